// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// Summary is what the scan knows of one policy.
type Summary struct {
	// Revision is the revision that the figures speak of.
	Revision string
	// Severity is the policy's.
	Severity v1alpha1.Severity
	// State says how far the figures can be trusted.
	State v1alpha1.ScanState
	Counts
	// LastFullScan is when the kind that was listed longest ago was listed; zero
	// while some kind never was.
	LastFullScan time.Time
	// Incomplete are the kinds that can't be listed or watched, and why; sorted.
	Incomplete []v1alpha1.IncompleteKind
	// Sample are the first violating objects in the order of Findings.
	Sample []policy.Finding
	// FirstError is the evaluation error of the first object that couldn't be
	// judged, with the object's name; empty when there is none.
	FirstError string
}

// Summary returns what the scan knows of the policy, with a sample of at most
// sampleSize violating objects. It is false when the policy isn't in force.
func (x *Index) Summary(policyName string, sampleSize int) (Summary, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	e, ok := x.policies[policyName]
	if !ok {
		return Summary{}, false
	}
	s := Summary{
		Revision: e.tally.Revision, Severity: e.severity, State: x.stateOf(e.tally), Counts: e.tally.counts,
		LastFullScan: x.lastFullScan(e.tally), Incomplete: x.incomplete(e.tally), FirstError: x.firstError(e.tally),
	}
	if sampleSize > 0 {
		s.Sample = x.findingsOf(e.tally, sampleSize)
	}
	return s, true
}

func (x *Index) lastFullScan(t *Tally) time.Time {
	var oldest time.Time
	for gk, listed := range t.listed {
		k := x.kinds[gk]
		if !listed || k == nil {
			return time.Time{}
		}
		if oldest.IsZero() || k.listedAt.Before(oldest) {
			oldest = k.listedAt
		}
	}
	return oldest
}

func (x *Index) incomplete(t *Tally) []v1alpha1.IncompleteKind {
	var out []v1alpha1.IncompleteKind
	for gk := range t.listed {
		if k := x.kinds[gk]; k != nil && k.problem != "" {
			out = append(out, v1alpha1.IncompleteKind{Group: gk.Group, Kind: gk.Kind, Message: k.problem})
		}
	}
	slices.SortFunc(out, func(a, b v1alpha1.IncompleteKind) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group))
	})
	return out
}

func (x *Index) firstError(t *Tally) string {
	if t.counts.Errors == 0 {
		return ""
	}
	first := ""
	x.eachFault(t, func(gk schema.GroupKind, _ *kindState, key string, r *Record, f Fault) {
		if !f.Failed {
			return
		}
		text := gk.Kind + " " + key + ": " + f.told(r.name).Message
		if first == "" || text < first {
			first = text
		}
	})
	return first
}

// Figures calls visit with every policy's name, severity, owner and counts.
func (x *Index) Figures(visit func(policy string, severity v1alpha1.Severity, owner string, c Counts)) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for name, e := range x.policies {
		visit(name, e.severity, e.owner, e.tally.counts)
	}
}

// Listings calls visit with every kind that has been listed, and when.
func (x *Index) Listings(visit func(gk schema.GroupKind, at time.Time)) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for gk, k := range x.kinds {
		if !k.listedAt.IsZero() {
			visit(gk, k.listedAt)
		}
	}
}
