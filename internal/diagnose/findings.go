// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

func fine(format string, args ...any) Finding {
	return Finding{Status: OK, Message: fmt.Sprintf(format, args...)}
}

func failed(do, format string, args ...any) Finding {
	return Finding{Status: Fail, Message: fmt.Sprintf(format, args...), Do: do}
}

func warned(do, format string, args ...any) Finding {
	return Finding{Status: Warn, Message: fmt.Sprintf(format, args...), Do: do}
}

// unread says that something couldn't be looked at.
func unread(what string, err error) Finding {
	do := "see that the API server answers: kubectl get --raw /readyz"
	switch {
	case apierrors.IsForbidden(err):
		do = "ask for the permission to read it, or let somebody run this who has it"
	case meta.IsNoMatchError(err):
		do = "see the check kinds"
	}
	return Finding{Status: Unknown, Message: fmt.Sprintf("%s couldn't be looked at: %v", what, err), Do: do}
}

// orFine is the findings, or one that all is well.
func orFine(found []Finding, format string, args ...any) []Finding {
	if len(found) > 0 {
		return found
	}
	return []Finding{fine(format, args...)}
}
