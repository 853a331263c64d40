// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"evenkeel.dev/evenkeel/internal/permissions"
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
	if refusal, refused := permissions.RefusedBy(err); refused {
		return refusedTo([]string{what}, []permissions.Refusal{refusal})
	}
	do := "see that the API server answers: kubectl get --raw /readyz"
	if meta.IsNoMatchError(err) {
		do = "see the check kinds"
	}
	return Finding{Status: Unknown, Message: fmt.Sprintf("%s couldn't be looked at: %v", what, err), Do: do}
}

// lack is what a finding couldn't be looked at for want of.
type lack struct {
	what     []string
	refusals []permissions.Refusal
}

// refusedTo says that things couldn't be looked at, for want of permissions that one role grants, or none.
func refusedTo(what []string, refusals []permissions.Refusal) Finding {
	text, others := what[0], len(what)-1
	if others > 0 {
		text = fmt.Sprintf("%s and %d more", text, others)
	}
	var may []string
	for _, r := range refusals {
		if !slices.Contains(may, r.String()) {
			may = append(may, r.String())
		}
	}
	do := "ask for the permission, or let somebody run this who has it"
	if role := refusals[0].Role(); role != "" {
		do = "ask for the permission: ClusterRole " + role + " grants it"
	}
	return Finding{Status: Unknown, Do: do, lack: &lack{what, refusals},
		Message: fmt.Sprintf("%s couldn't be looked at: you may not %s", text, strings.Join(may, ", "))}
}

// joined says once what a check couldn't look at for want of permissions that ask for the same, and only the first
// time what to do about it. told is what earlier checks have asked for.
func joined(found []Finding, told map[string]bool) []Finding {
	var out []Finding
	at := map[string]int{}
	for _, f := range found {
		if f.lack == nil {
			out = append(out, f)
			continue
		}
		role := f.lack.refusals[0].Role()
		i, seen := at[role]
		if !seen {
			at[role] = len(out)
			out = append(out, f)
			continue
		}
		before := out[i].lack
		out[i] = refusedTo(slices.Concat(before.what, f.lack.what), slices.Concat(before.refusals, f.lack.refusals))
	}
	for i := range out {
		if out[i].lack == nil {
			continue
		}
		fresh := false
		for _, r := range out[i].lack.refusals {
			key := cmp.Or(r.Role(), r.String())
			fresh, told[key] = fresh || !told[key], true
		}
		if !fresh {
			out[i].Do = ""
		}
	}
	return out
}

// orFine is the findings, or one that all is well.
func orFine(found []Finding, format string, args ...any) []Finding {
	if len(found) > 0 {
		return found
	}
	return []Finding{fine(format, args...)}
}
