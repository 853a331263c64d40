// SPDX-License-Identifier: Apache-2.0

package index

import "k8s.io/apimachinery/pkg/runtime/schema"

// before is what is known from before of an object that couldn't be judged. While what rules look up isn't known, no
// object can be: that mustn't look as if all of them complied, and as if each began to violate when it can be judged
// again.
type before uint8

const (
	// complied is also an object that wasn't there.
	complied before = iota
	violated
	// neverJudged is one that could not be judged in the first pass of a revision either.
	neverJudged
)

// unjudged says that the policy found neither a violation nor that there is none.
func (f *Fault) unjudged() bool { return f.Failed && f.Violations == 0 && !f.Waived }

// recall notes of each policy that couldn't judge the object what is known of it from the record before.
func (r *Record) recall(gk schema.GroupKind, was *Record) {
	if r == nil {
		return
	}
	for i := range r.faults {
		f := r.fault(i)
		if !f.unjudged() {
			continue
		}
		old, concerned := was.kept(f.Tally)
		switch {
		case !concerned && !f.Tally.listed[gk]:
			if !f.Tally.complied(gk, was) {
				r.remember(i, neverJudged)
			}
		case old.Violations > 0 || old.Waived:
			r.remember(i, violated)
		default:
			r.remember(i, old.before)
		}
	}
}

// knew says whether it is known of an object, as it was recorded, whether it violated.
func (t *Tally) knew(gk schema.GroupKind, was *Record) bool {
	return t.listed[gk] || t.complied(gk, was)
}

// complied says that an object is known to have complied, or not to have been there, when the kind was gone through by
// the same rules under other waivers, and hasn't been under these.
func (t *Tally) complied(gk schema.GroupKind, was *Record) bool {
	if !t.listedBefore[gk] || t.listed[gk] {
		return false
	}
	old := was.faultBy(t.Policy, t.Revision)
	return old.Violations == 0 && !old.Waived && old.before == complied
}

// faultBy is what a revision of a policy found wrong, whatever the waivers; nothing where it doesn't concern the
// object.
func (r *Record) faultBy(policy, revision string) Fault {
	if r == nil {
		return Fault{}
	}
	for i := range r.faults {
		if t := r.faults[i].Tally; t.Policy == policy && t.Revision == revision {
			return r.fault(i)
		}
	}
	return Fault{}
}

// transition is that an object of which one was known begins to violate by a tally, or may have.
func transition(gk schema.GroupKind, key string, now *Record, t *Tally, old, next Fault) Transition {
	uid, resourceVersion := now.seen()
	one := Transition{Policy: t.Policy, Kind: gk, Key: key, UID: uid, ResourceVersion: resourceVersion,
		Message: next.told(now.name).Message}
	if old.before == neverJudged {
		one.unjudged = t.listedFirst[gk]
	}
	return one
}

// entryOf is the policy of a tally, if its revision is the one in force, whatever the waivers; nil if it isn't.
func (x *Index) entryOf(t *Tally) *entry {
	if e := x.policies[t.Policy]; e != nil && e.tally.Revision == t.Revision {
		return e
	}
	return nil
}

// begins says that an object of which one was known begins to violate, or may have begun since it was found.
func begins(old, next Fault) bool {
	return next.Violations > 0 && old.Violations == 0 && old.before != violated
}
