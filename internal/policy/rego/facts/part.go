// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unique"
)

// Part is one place of a document of which rules read something: all that it holds, something of each field or element,
// or that it is there.
type Part struct {
	path  []string
	below *Excerpt
	// name tells it from other parts: two of one name write the same.
	name unique.Handle[string]
}

// Parts are all the places of which something is read, in an order of their own. Together they are the excerpt.
func (e *Excerpt) Parts() []Part {
	if e == nil {
		return nil
	}
	return e.parts(nil)
}

func (e *Excerpt) parts(path []string) (parts []Part) {
	if e.whole || e.any != nil || len(e.names) == 0 {
		var name strings.Builder
		for _, key := range path {
			name.WriteString(strconv.Quote(key))
		}
		e.describe(&name)
		return []Part{{path: path, below: e, name: unique.Make(name.String())}}
	}
	for i, key := range e.names {
		parts = append(parts, e.below[i].parts(append(slices.Clone(path), key))...)
	}
	return parts
}

// describe writes an excerpt so that no other is written so.
func (e *Excerpt) describe(to *strings.Builder) {
	switch {
	case e == nil:
		to.WriteByte('-')
		return
	case e.whole:
		to.WriteByte('*')
		return
	}
	to.WriteByte('{')
	for i, key := range e.names {
		to.WriteString(strconv.Quote(key))
		e.below[i].describe(to)
	}
	to.WriteByte('}')
	e.any.describe(to)
}

// Digests are those of the parts of one request's documents, so that a part that several policies read is written once.
// They are safe for concurrent use.
type Digests struct {
	mu    sync.Mutex
	known map[partOf]digest
	// free are texts that nobody writes to.
	free []*Text
}

// Borrow is a text to write to, until it is returned. It goes with the request.
func (d *Digests) Borrow() *Text {
	d.mu.Lock()
	defer d.mu.Unlock()
	if last := len(d.free) - 1; last >= 0 {
		text := d.free[last]
		d.free = d.free[:last]
		return text
	}
	return &Text{Most: MaxText}
}

// Return gives a borrowed text back.
func (d *Digests) Return(t *Text) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.free = append(d.free, t)
}

// usualParts is about how many parts thirty policies read.
const usualParts = 48

type partOf struct {
	document byte
	part     unique.Handle[string]
}

// digest is that of a part; none where it couldn't be written.
type digest struct {
	sum  [sha256.Size]byte
	none bool
}

func (d *Digests) get(of partOf) (found digest, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found, known = d.known[of]
	return found, known
}

func (d *Digests) put(of partOf, made digest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil {
		d.known = make(map[partOf]digest, usualParts)
	}
	d.known[of] = made
}

// Part writes a part of a document; what an object or a list holds there as its digest. The byte tells the documents of
// a request apart.
func (t *Text) Part(p *Part, document byte, of any, digests *Digests) {
	value, depth, there := follow(of, p.path)
	if !there {
		t.size(tagNone, depth)
		return
	}
	t.size(tagList, depth)
	below := p.below
	if depth < len(p.path) {
		below = &Excerpt{whole: true} // it is no object, and stays as it is
	}
	_, isObject := value.(map[string]any)
	_, isList := value.([]any)
	if (isObject || isList) && !below.asksOnly() {
		t.digest(partOf{document: document, part: p.name}, digests, func() { t.Excerpt(below, value) })
	} else {
		t.Excerpt(below, value)
	}
}

// follow goes as far along keys as they lead: to what stands there, to the first value on the way that is no object, or
// to an object without the next key.
func follow(value any, keys []string) (reached any, depth int, there bool) {
	for depth, key := range keys {
		fields, isObject := value.(map[string]any)
		if !isObject {
			return value, depth, true
		}
		if value, there = fields[key]; !there {
			return nil, depth, false
		}
	}
	return value, len(keys), true
}

// digest writes that of what write writes, which is written once for a request.
func (t *Text) digest(of partOf, digests *Digests, write func()) {
	if t.Failed {
		return
	}
	made, known := digests.get(of)
	if !known {
		made = t.sum(write)
		digests.put(of, made)
	}
	t.Failed = made.none
	t.tag(tagDigest) // or a text could be made that looks like a digest
	if t.room(len(made.sum)) {
		t.Bytes = append(t.Bytes, made.sum[:]...)
	}
}

// sum is the digest of what write writes, whatever stands before it, which is left as it is.
func (t *Text) sum(write func()) (made digest) {
	begin, most := len(t.Bytes), t.Most
	t.Most = begin + MaxText
	write()
	if made.none = t.Failed; !t.Failed {
		made.sum = sha256.Sum256(t.Bytes[begin:])
	}
	t.Bytes, t.Most, t.Failed = t.Bytes[:begin], most, false
	return made
}
