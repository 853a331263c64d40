// SPDX-License-Identifier: Apache-2.0

package facts

import "slices"

// Fields is which fields of a document rules may read, as a tree. Of one that is read, all that it holds is read too,
// unless it is only asked whether it is there: then nothing stands below it. The nil Fields is none.
type Fields struct {
	// whole says that all is read.
	whole bool
	// named are the fields below by name, each with what is read of any field; any is that alone.
	named map[string]*Fields
	any   *Fields
}

// All is every field.
func All() *Fields { return &Fields{whole: true} }

// Field is the one that some keys lead to.
func Field(keys ...string) *Fields { return fieldsOf([]path{keys}) }

// Below is what rules may read below some keys, at any of several places: Below([]string{"review", "object"}).
func (r Reads) Below(places ...[]string) *Fields {
	var below []path
	for _, place := range places {
		for _, p := range r.paths {
			if p.leadsInto(place) {
				below = append(below, p[min(len(place), len(p)):])
			}
		}
	}
	return fieldsOf(below)
}

// leadsInto says that a path ends on the way to a place, or may go on below it.
func (p path) leadsInto(place []string) bool {
	for i := range min(len(p), len(place)) {
		if p[i] != anyKey && p[i] != place[i] {
			return false
		}
	}
	return true
}

// Under is the same fields of a document that stands below some keys of another.
func (f *Fields) Under(keys ...string) *Fields {
	if f == nil {
		return nil
	}
	for _, key := range slices.Backward(keys) {
		f = &Fields{named: map[string]*Fields{key: f}}
	}
	return f
}

// Whole says that all is read.
func (f *Fields) Whole() bool { return f != nil && f.whole }

// Of is what is read of a field; nil for nothing.
func (f *Fields) Of(name string) *Fields {
	switch {
	case f == nil || f.whole:
		return f
	case f.named[name] != nil:
		return f.named[name]
	default:
		return f.any
	}
}

// OfElement is what is read of each element, where there is a list.
func (f *Fields) OfElement() *Fields {
	if f == nil || f.whole {
		return f
	}
	return f.any
}

// Join is what is read of the same document in all. It changes none of them.
func Join(all ...*Fields) *Fields {
	b := newBuilder()
	for _, f := range all {
		b.join(f)
	}
	return b.fields()
}

// fieldsOf is what paths lead to.
func fieldsOf(paths []path) *Fields {
	b := newBuilder()
	for _, p := range paths {
		b.join(p.tree())
	}
	return b.fields()
}

// tree is what the path leads to.
func (p path) tree() *Fields {
	keys, isPresence := p.keys()
	f := &Fields{whole: !isPresence}
	for _, key := range slices.Backward(keys) {
		if key == anyKey {
			f = &Fields{any: f}
		} else {
			f = f.Under(key)
		}
	}
	return f
}
