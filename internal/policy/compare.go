// SPDX-License-Identifier: Apache-2.0

package policy

// Judged is an object with what a policy found in it.
type Judged struct {
	Object     map[string]any
	Violations []Violation
}

// Change is what has become of the violations of an object. Each list is in the
// order of the later object.
type Change struct {
	// Counted are those that nothing before excuses.
	Counted []Violation
	// Altered are those of Counted that were there before, but what violates has been
	// changed since: the old privileged container runs another image, say.
	Altered []Violation
	// Old were there before, and what violates is as it was.
	Old []Violation
}

// Compare tells the violations of now that before had from those that are new or
// altered. What violates is what the path leads to, and with it
//
//   - at or below a container: what that container runs, which is all of it but its
//     resources and its security context
//   - at or below a volume: what the containers run that mount it
//   - elsewhere in a Pod's spec: what all of its containers run
//   - below an element of another list: that element
//
// A violation without a path may stem from anything: all of the Pod's spec counts,
// or all of another object but its metadata and status. Elements of lists are known
// by their name, or by what they hold where they have none, so that their order
// doesn't matter. What is said of labels or annotations as a whole is never altered
// by changing another of them.
func Compare(before, now Judged) Change {
	known, had := map[string]int{}, map[string]bool{}
	earlier := newPlaces(before.Object)
	for _, v := range before.Violations {
		p := earlier.of(v.Path)
		had[v.Message+"\x00"+p.path] = true
		known[v.Message+"\x00"+p.path+"\x00"+p.subject]++
	}
	var change Change
	later := newPlaces(now.Object)
	for _, v := range now.Violations {
		p := later.of(v.Path)
		key := v.Message + "\x00" + p.path
		switch {
		case known[key+"\x00"+p.subject] > 0:
			known[key+"\x00"+p.subject]--
			change.Old = append(change.Old, v)
		case had[key]:
			change.Altered = append(change.Altered, v)
			fallthrough
		default:
			change.Counted = append(change.Counted, v)
		}
	}
	return change
}

// SameViolations are the violations of now that before has too, at the same place,
// whatever else differs: elements of lists are known by their name. One without a path
// is the same only while the Pod has no other containers.
func SameViolations(before, now Judged) []Violation {
	had := map[string]bool{}
	earlier, later := newPlaces(before.Object), newPlaces(now.Object)
	for _, v := range before.Violations {
		had[earlier.identity(v)] = true
	}
	var out []Violation
	for _, v := range now.Violations {
		if had[later.identity(v)] {
			out = append(out, v)
		}
	}
	return out
}

// identity identifies a violation by where it is, not by what is there.
func (p *places) identity(v Violation) string {
	key := v.Message + "\x00" + p.of(v.Path).path
	if whole, pointed := wholeOf(p.object, v.Path); pointed {
		return key + "\x00" + containerNames(whole)
	}
	return key
}
