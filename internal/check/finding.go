// SPDX-License-Identifier: Apache-2.0

package check

import (
	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/prose"
)

// maxMessage bounds the text of a finding, in bytes, as the scan does.
const maxMessage = 512

// Reference names the object of a result.
func (r *Result) Reference() v1alpha1.ObjectReference {
	return v1alpha1.ObjectReference{APIVersion: text(r.Object, "apiVersion"), Kind: text(r.Object, "kind"),
		Namespace: text(r.Object, "metadata", "namespace"), Name: text(r.Object, "metadata", "name"),
		UID: text(r.Object, "metadata", "uid")}
}

// Findings are the violations that count, as the scan tells remediation of them:
// one for each result that is not waived.
func (r *Report) Findings() []policy.Finding {
	var out []policy.Finding
	for i := range r.Results {
		res := &r.Results[i]
		if res.Waived != nil || len(res.Violations) == 0 {
			continue
		}
		ref := res.Reference()
		out = append(out, policy.Finding{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace,
			Name: ref.Name, UID: ref.UID,
			ResourceVersion: text(res.Object, "metadata", "resourceVersion"), Violations: len(res.Violations),
			Message: prose.Shorten(res.Violations[0].Message, maxMessage), Fixable: len(res.Actions) > 0})
	}
	return out
}
