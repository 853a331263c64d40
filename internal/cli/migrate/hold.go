// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"slices"

	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper/live"
	"evenkeel.dev/evenkeel/internal/prose"
)

type verdict = catalog.Result

// hold holds what Evenkeel says of a request against what Gatekeeper said.
func (r *admissionRow) hold(of live.ObjectKey, v *verdict, theirs []string) {
	if v.Err != nil {
		r.unknown(of.String() + ": Evenkeel couldn't judge it: " + prose.OneLine(v.Err.Error()))
	}
	var ours []string
	for _, violation := range v.Violations {
		ours = append(ours, violation.Message)
	}
	r.OnlyGatekeeper = append(r.OnlyGatekeeper, without(of, theirs, ours)...)
	r.OnlyEvenkeel = append(r.OnlyEvenkeel, without(of, ours, theirs)...)
}

func without(of live.ObjectKey, messages, others []string) []live.Finding {
	var found []live.Finding
	for _, m := range messages {
		if !slices.Contains(others, m) {
			found = append(found, live.Finding{ObjectKey: of, Message: m})
		}
	}
	return found
}
