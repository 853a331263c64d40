// SPDX-License-Identifier: Apache-2.0

// Package preview is what a rollout would be that doesn't exist yet: planning makes it, and
// display draws it.
package preview

import "evenkeel.dev/evenkeel/api/v1alpha1"

// Plan is a rollout that doesn't exist yet: what a policy's remediation would do
// now. It is what machines get to read, too: fields are only ever added.
type Plan struct {
	Policy   string                   `json:"policy"`
	Revision string                   `json:"revision"`
	Mode     v1alpha1.RemediationMode `json:"mode"`
	// Remediation is the name that the plan would have; empty when none is made.
	Remediation string `json:"remediation,omitempty"`
	// Waves are in order; the first is the canary.
	Waves []Wave `json:"waves"`
	// Skipped are the violating objects that no wave fixes, and why.
	Skipped []Target `json:"skipped,omitempty"`
	// Waiting counts the objects that failed in an earlier plan and whose next try
	// is still to come; Later those that the budget leaves for the next plan.
	Waiting int `json:"waiting,omitempty"`
	Later   int `json:"later,omitempty"`
	// LeastDuration is how long the soaks and metrics of all waves take at the
	// least, as Go writes durations; empty without a rollout.
	LeastDuration string `json:"leastDuration,omitempty"`
	// Holds are what would keep the first write from beginning now.
	Holds []Hold `json:"holds,omitempty"`
	// MissingPermissions are the RBAC rules that the controller lacks.
	MissingPermissions []string `json:"missingPermissions,omitempty"`
	// Notes say what the preview couldn't know.
	Notes []string `json:"notes,omitempty"`
}

// Wave is a wave with its targets.
type Wave struct {
	// Stage is empty in a plan without stages.
	Stage string `json:"stage,omitempty"`
	// Canary says that the wave is the canary of its stage.
	Canary  bool     `json:"canary"`
	Targets []Target `json:"targets"`
}

// Target is an object with what would become of it.
type Target struct {
	Object v1alpha1.ObjectReference `json:"object"`
	// Reason and Message say why it isn't fixed, or that its fix would fail.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Diff is the change; empty when it wasn't asked for.
	Diff string `json:"diff,omitempty"`
}

// Hold is something that keeps writes from beginning.
type Hold struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Targets counts the objects that the waves would fix.
func (p *Plan) Targets() int {
	n := 0
	for _, w := range p.Waves {
		n += len(w.Targets)
	}
	return n
}
