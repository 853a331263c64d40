// SPDX-License-Identifier: Apache-2.0

package index

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

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
	// Errors is the number of objects that couldn't be judged. Of those, ErrorsViolated violated when they could
	// be last, and ErrorsUnknown never could be since the policy has its revision and waivers, nor is it known that
	// they complied under the waivers before.
	Errors, ErrorsViolated, ErrorsUnknown int
}

// Vague says that so many objects were never judged, more than a tenth, that the other figures say little. A single
// one doesn't make them vague, so that nobody turns off by it what goes by them.
func (c Counts) Vague() bool { return 10*c.ErrorsUnknown > c.Scanned }

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
	// listedBefore are the kinds that a full pass under this revision and other waivers has listed before.
	listedBefore map[schema.GroupKind]bool
	// listedFirst is when the kinds were listed first.
	listedFirst map[schema.GroupKind]time.Time
	counts      Counts
	// unknown is the number of objects that weren't judged since what the policy looks up wasn't known.
	unknown int
}

// newTally is for a definition in place of another one, if any.
func newTally(d Definition, old *entry) *Tally {
	t := &Tally{Policy: d.Name, Revision: d.Revision, waivers: d.Waivers,
		listed: make(map[schema.GroupKind]bool, len(d.Kinds)), listedBefore: map[schema.GroupKind]bool{},
		listedFirst: map[schema.GroupKind]time.Time{}}
	for _, k := range d.Kinds {
		t.listed[k] = false
		if old != nil && old.tally.Revision == d.Revision {
			t.listedBefore[k] = old.tally.listed[k] || old.tally.listedBefore[k]
		}
	}
	return t
}

// sameAs says that the definition gives the same verdicts on the same kinds.
func (t *Tally) sameAs(d Definition) bool {
	if t.Revision != d.Revision || t.waivers != d.Waivers || len(t.listed) != len(d.Kinds) {
		return false
	}
	for _, gk := range d.Kinds {
		if _, ok := t.listed[gk]; !ok {
			return false
		}
	}
	return true
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
		f := r.fault(i)
		c := &f.Tally.counts
		c.Scanned += sign
		if f.Failed {
			c.Errors += sign
		}
		if f.Unknown {
			f.Tally.unknown += sign
		}
		switch f.before {
		case complied:
		case violated:
			c.ErrorsViolated += sign
		case neverJudged:
			c.ErrorsUnknown += sign
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
