package scan

import "k8s.io/apimachinery/pkg/runtime/schema"

// Counts are the figures of one policy over all its kinds.
type Counts struct {
	// Scanned is the number of objects judged.
	Scanned int
	// Violating is the number of objects with at least one violation.
	Violating int
	// Violations is the number of violations over all objects.
	Violations int
	// Errors is the number of objects that couldn't be judged.
	Errors int
}

// tally counts for one policy at one revision. Records point at it, so when the
// revision changes, what was counted under the old one stays with the old tally
// and can't leak into the new one.
//
// policy, revision and the keys of listed never change; the rest is guarded by
// the Index.
type tally struct {
	policy, revision string
	// listed holds every kind of the policy; true once a full pass under this
	// revision has listed it and a watch has followed on.
	listed map[schema.GroupKind]bool
	counts Counts
}

func newTally(policy, revision string, kinds []schema.GroupKind) *tally {
	t := &tally{policy: policy, revision: revision, listed: make(map[schema.GroupKind]bool, len(kinds))}
	for _, k := range kinds {
		t.listed[k] = false
	}
	return t
}

// add counts a record in (sign 1) or out (sign -1) of every tally concerned.
func (r *record) add(sign int) {
	if r == nil {
		return
	}
	for _, t := range r.clean.tallies {
		t.counts.Scanned += sign
	}
	for i := range r.faults {
		f := &r.faults[i]
		c := &f.tally.counts
		c.Scanned += sign
		if f.failed {
			c.Errors += sign
			continue
		}
		c.Violating += sign
		c.Violations += sign * int(f.violations)
	}
}
