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

func unread(what string, err error) Finding {
	if refusal, refused := permissions.RefusedBy(err); refused {
		return refusedTo(lack{what: []string{what}, refusals: []permissions.Refusal{refusal}})
	}
	do := "see that the API server answers: kubectl get --raw /readyz"
	if meta.IsNoMatchError(err) {
		do = "see the check kinds"
	}
	return Finding{Status: Unknown, Message: fmt.Sprintf("%s couldn't be checked: %v", what, err), Do: do}
}

// skipped is unread, but for what the person may not ask: that isn't looked at, and shown otherwise in that case.
func skipped(what string, err error, otherwise string) Finding {
	f := unread(what, err)
	if f.lack == nil {
		return f
	}
	f.lack.otherwise = otherwise
	return refusedTo(*f.lack)
}

// lack is what a finding couldn't be looked at for want of.
type lack struct {
	what     []string
	refusals []permissions.Refusal
	// otherwise says what shows the same; empty where nothing does.
	otherwise string
}

// refusedTo says that things couldn't be looked at, for want of permissions that one role grants, or none.
func refusedTo(l lack) Finding {
	text, others := l.what[0], len(l.what)-1
	if others > 0 {
		text = fmt.Sprintf("%s and %d more", text, others)
	}
	var list []string
	for _, r := range l.refusals {
		if !slices.Contains(list, r.String()) {
			list = append(list, r.String())
		}
	}
	may := strings.Join(list, ", ")
	if l.otherwise != "" {
		return Finding{Status: Skipped, lack: &l,
			Message: fmt.Sprintf("not checked: %s (you may not %s); %s", text, may, l.otherwise)}
	}
	do := "ask for the permission, or let somebody run this who has it"
	if role := l.refusals[0].Role(); role != "" {
		do = "ask for the permission: ClusterRole " + role + " grants it"
	}
	return Finding{Status: Unknown, Do: do, lack: &l,
		Message: fmt.Sprintf("%s couldn't be checked: you may not %s", text, may)}
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
		key := f.lack.otherwise + "/" + f.lack.refusals[0].Role()
		i, seen := at[key]
		if !seen {
			at[key] = len(out)
			out = append(out, f)
			continue
		}
		before := out[i].lack
		out[i] = refusedTo(lack{slices.Concat(before.what, f.lack.what),
			slices.Concat(before.refusals, f.lack.refusals), before.otherwise})
	}
	for i := range out {
		if out[i].Status != Unknown || out[i].lack == nil {
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
