// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"io"
	"slices"
	"strings"
)

// maxShared bounds how many outcomes, and how many faults, a Compliance remembers to share them. Objects that
// are alike come one after the other, so that the latest are enough.
const maxShared = 1024

// nameMark stands in a kept message for the name of the object, so that those of objects that are alike are the same.
const nameMark = "\x00"

// outcome is what all objects have in common that comply with the same policies and violate others alike. It is
// immutable.
type outcome struct {
	clean  *Compliance
	faults []*Fault
}

// outcomeOf is the outcome of the faults of an object, shared with those before it that are alike.
func (c *Compliance) outcomeOf(faults []Fault, name string) *outcome {
	marked := make([]Fault, 0, len(faults))
	sum := fnv.New64a()
	for i := range faults {
		f := faults[i].mark(name)
		marked = append(marked, f)
		// A hash never fails to be written to.
		_, _ = io.WriteString(sum, f.Tally.Policy)
		_, _ = io.WriteString(sum, f.Message)
	}
	alike := func(kept *Fault, f Fault) bool { return *kept == f }
	known := c.outcomes[sum.Sum64()]
	if known != nil && slices.EqualFunc(known.faults, marked, alike) {
		return known
	}
	if c.outcomes == nil || len(c.outcomes) >= maxShared {
		c.outcomes = map[uint64]*outcome{}
	}
	o := &outcome{clean: c, faults: make([]*Fault, 0, len(marked))}
	for _, f := range marked {
		o.faults = append(o.faults, c.share(f))
	}
	c.outcomes[sum.Sum64()] = o
	return o
}

// share is the same fault, kept once.
func (c *Compliance) share(f Fault) *Fault {
	if known := c.faults[f]; known != nil {
		return known
	}
	if c.faults == nil || len(c.faults) >= maxShared {
		c.faults = map[Fault]*Fault{}
	}
	c.faults[f] = &f
	return &f
}

// mark is the fault with a mark in the place of the object's name, unless the message has such a mark already.
func (f Fault) mark(name string) Fault {
	if name != "" && !strings.Contains(f.Message, nameMark) && strings.Contains(f.Message, name) {
		f.Message, f.marked = strings.ReplaceAll(f.Message, name, nameMark), true
	}
	return f
}

// told is a fault as it was found of an object of this name.
func (f Fault) told(name string) Fault {
	if f.marked {
		f.Message, f.marked = strings.ReplaceAll(f.Message, nameMark, name), false
	}
	return f
}

// pack makes one short text of the UID and the resource version of an object. A UID as Kubernetes makes them takes 16
// bytes of it.
func pack(uid, resourceVersion string) string {
	const plain, asBytes = 0, 1
	text, form := uid, plain
	if raw, err := hex.DecodeString(strings.ReplaceAll(uid, "-", "")); err == nil && uidOf(string(raw)) == uid {
		text, form = string(raw), asBytes
	}
	out := make([]byte, 0, binary.MaxVarintLen32+len(text)+len(resourceVersion))
	out = binary.AppendUvarint(out, uint64(len(text)<<1|form))
	return string(append(append(out, text...), resourceVersion...))
}

// unpack undoes pack.
func unpack(packed string) (uid, resourceVersion string) {
	head, n := binary.Uvarint([]byte(packed[:min(len(packed), binary.MaxVarintLen32)]))
	text, rest := packed[n:n+int(head>>1)], packed[n+int(head>>1):]
	if head&1 == 1 {
		text = uidOf(text)
	}
	return text, rest
}

// packedUID is the part of a packed text that is the UID's.
func packedUID(packed string) string {
	_, resourceVersion := unpack(packed)
	return packed[:len(packed)-len(resourceVersion)]
}

// uidOf writes 16 bytes as Kubernetes writes a UID; it is empty for fewer or more.
func uidOf(raw string) string {
	if len(raw) != 16 {
		return ""
	}
	var out [36]byte
	at := 0
	for i := range raw {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			out[at] = '-'
			at++
		}
		at += hex.Encode(out[at:], []byte{raw[i]})
	}
	return string(out[:])
}
