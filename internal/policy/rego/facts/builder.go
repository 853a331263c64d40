// SPDX-License-Identifier: Apache-2.0

package facts

const (
	// maxPlaces bounds how many places a tree of fields has, and maxSteps how many are visited to make it: a field of
	// any name stands below each that is named, level by level, so that few rules can name very many. Of what has more,
	// all is taken to be read.
	maxPlaces = 20_000
	maxSteps  = 1_000_000
)

// builder makes one tree of fields of several.
type builder struct {
	root *Fields
	// places and steps are how many more there may be.
	places, steps int
}

func newBuilder() *builder { return &builder{places: maxPlaces, steps: maxSteps} }

// fields are those that were added; nil for none.
func (b *builder) fields() *Fields {
	if b.places < 0 || b.steps < 0 {
		return All()
	}
	return b.root
}

// join adds the fields of another tree.
func (b *builder) join(f *Fields) {
	if f == nil {
		return
	}
	b.root = b.place(b.root)
	b.merge(b.root, f)
}

// place is a place, made if there is none yet.
func (b *builder) place(f *Fields) *Fields {
	if f != nil {
		return f
	}
	b.places--
	return &Fields{}
}

// step says whether another place may be visited.
func (b *builder) step() bool {
	b.steps--
	return b.steps >= 0 && b.places >= 0
}

// merge adds what is read from a place in another tree.
func (b *builder) merge(into, f *Fields) {
	switch {
	case !b.step() || into.whole:
		return
	case f.whole:
		*into = Fields{whole: true}
		return
	}
	if f.any != nil {
		into.any = b.place(into.any)
		b.merge(into.any, f.any)
		for _, named := range into.named {
			b.merge(named, f.any)
		}
	}
	for name, below := range f.named {
		b.merge(b.named(into, name), below)
	}
}

// named is the place of a field. Of one that isn't there yet the same is read as of any.
func (b *builder) named(of *Fields, name string) *Fields {
	if of.named == nil {
		of.named = map[string]*Fields{}
	}
	if of.named[name] == nil {
		of.named[name] = b.copied(of.any)
	}
	return of.named[name]
}

// copied is a tree of its own of what is read from a place.
func (b *builder) copied(f *Fields) *Fields {
	out := b.place(nil)
	if f == nil || !b.step() {
		return out
	}
	if out.whole = f.whole; f.any != nil {
		out.any = b.copied(f.any)
	}
	for name, below := range f.named {
		if out.named == nil {
			out.named = make(map[string]*Fields, len(f.named))
		}
		out.named[name] = b.copied(below)
	}
	return out
}
