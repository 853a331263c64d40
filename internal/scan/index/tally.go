// SPDX-License-Identifier: Apache-2.0

package index

import "k8s.io/apimachinery/pkg/runtime/schema"

// Counts are the figures of one policy over all its kinds.
type Counts struct {
	// Scanned is the number of objects judged.
	Scanned int
	// Violating is the number of objects with at least one violation.
	Violating int
	// Violations is the number of violations over all objects.
	Violations int
	// Waived is the number of objects whose violations a waiver waives; they
	// aren't among Violating.
	Waived int
	// Errors is the number of objects that couldn't be judged.
	Errors int
}

// Tally counts for one policy at one revision, under the same waivers. Records
// point at it, so when either changes, what was counted before stays with the old
// tally and can't leak into the new one.
//
// Policy, Revision, waivers and the keys of listed never change; the rest is guarded by
// the Index.
type Tally struct {
	Policy, Revision string
	// waivers identifies the waivers that were active.
	waivers string
	// listed holds every kind of the policy; true once a full pass under this
	// revision has listed it and a watch has followed on.
	listed map[schema.GroupKind]bool
	counts Counts
}

func newTally(d Definition) *Tally {
	t := &Tally{Policy: d.Name, Revision: d.Revision, waivers: d.Waivers,
		listed: make(map[schema.GroupKind]bool, len(d.Kinds))}
	for _, k := range d.Kinds {
		t.listed[k] = false
	}
	return t
}

// add counts a record in (sign 1) or out (sign -1) of every tally concerned.
func (r *Record) add(sign int) {
	if r == nil {
		return
	}
	for _, t := range r.clean.tallies {
		t.counts.Scanned += sign
	}
	for i := range r.faults {
		f := &r.faults[i]
		c := &f.Tally.counts
		c.Scanned += sign
		if f.Failed {
			c.Errors += sign
		}
		if f.Waived {
			c.Waived += sign
		}
		if f.Violations > 0 {
			c.Violating += sign
			c.Violations += sign * int(f.Violations)
		}
	}
}
