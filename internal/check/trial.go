// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

// Trial is what a policy would do to the objects that it was tried on.
type Trial struct {
	// Policy is its name, Action what its admission does with a violation.
	Policy string                   `json:"policy"`
	Action v1alpha1.AdmissionAction `json:"action"`
	// InForce is the revision of the policy of that name in the cluster; empty where there is none. Revision is the
	// one that was tried.
	InForce  string `json:"inForce,omitempty"`
	Revision string `json:"revision"`
	// Objects counts those that the policy concerns; Violating those that violate it, of which Waived don't count;
	// Unjudged those that it couldn't judge.
	Objects   int `json:"objects"`
	Violating int `json:"violating"`
	Waived    int `json:"waived"`
	Unjudged  int `json:"unjudged"`
	// Proven counts the violating objects whose fix is proven, Unfixed the others by the reason why not.
	Proven  int            `json:"proven"`
	Unfixed map[string]int `json:"unfixed,omitempty"`
	// Mean and Slowest are how long it took to judge an object, SlowestObject the one that took longest.
	Mean          time.Duration `json:"meanNanoseconds"`
	Slowest       time.Duration `json:"slowestNanoseconds"`
	SlowestObject string        `json:"slowestObject,omitempty"`
}

// Trials gathers the trials of the policies of a run.
type Trials struct {
	mu    sync.Mutex
	found map[string]*Trial
	total map[string]time.Duration
}

// NewTrials begins the trials of policies.
func NewTrials(snapshot *catalog.Snapshot) *Trials {
	t := &Trials{found: map[string]*Trial{}, total: map[string]time.Duration{}}
	for _, p := range snapshot.Policies() {
		revision, _ := snapshot.Revision(p.Name)
		t.found[p.Name] = &Trial{
			Policy: p.Name, Action: p.Spec.Admission.Action, Revision: revision, Unfixed: map[string]int{}}
	}
	return t
}

// Took takes what was said of one object: Options.Took.
func (t *Trials) Took(subject *Subject, verdicts []catalog.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range verdicts {
		v := &verdicts[i]
		trial := t.found[v.Policy]
		trial.Objects++
		t.total[v.Policy] += v.Took
		if v.Took > trial.Slowest {
			trial.Slowest, trial.SlowestObject = v.Took, subject.Title()
		}
	}
}

// Of are the trials, once the run has ended with a report, sorted by policy.
func (t *Trials) Of(report *Report) []Trial {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range report.Results {
		r := &report.Results[i]
		trial := t.found[r.Policy.Name]
		switch {
		case r.Err != nil && len(r.Violations) == 0:
			trial.Unjudged++
		case len(r.Violations) == 0:
		case r.Waived != nil:
			trial.Violating++
			trial.Waived++
		case r.Fix != "":
			trial.Violating++
			trial.Proven++
		default:
			trial.Violating++
			trial.Unfixed[cmp.Or(r.NoFix, "it couldn't be judged to its end")]++
		}
	}
	trials := make([]Trial, 0, len(t.found))
	for _, name := range slices.Sorted(maps.Keys(t.found)) {
		trial := *t.found[name]
		if trial.Objects > 0 {
			trial.Mean = t.total[name] / time.Duration(trial.Objects)
		}
		trials = append(trials, trial)
	}
	return trials
}
