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

// maxShared bounds how many sets of policies, outcomes and faults are remembered to be shared, of each. Objects that
// are alike come one after the other, so that the latest are enough; and whoever may change one object may have it be
// of another set, and say something else, as often as they like.
const maxShared = 1024

// Shared makes records, and keeps once what they have in common: of the latest. One goroutine at a time may use it.
type Shared struct {
	// compliances are by the names of their policies.
	compliances map[string]*compliance
	outcomes    map[outcomeKey]*outcome
	faults      map[Fault]*Fault
	buf         []byte
}

// outcomeKey is what an outcome is looked for by: sum is a hash of its faults.
type outcomeKey struct {
	clean *compliance
	sum   uint64
}

// Record is that of an object that complies with some policies and has faults by others, none for one that complies
// with all that concern it. key, uid and resourceVersion are the object's as it was judged.
func (s *Shared) Record(clean []*Tally, faults []Fault, key, uid, resourceVersion string) *Record {
	complies := s.complianceWith(clean)
	if len(faults) == 0 {
		return &complies.record
	}
	_, name := SplitKey(key)
	return &Record{outcome: s.outcomeOf(complies, faults, name), name: name, packed: pack(uid, resourceVersion)}
}

// complianceWith is that with some policies, shared with those before it.
func (s *Shared) complianceWith(clean []*Tally) *compliance {
	s.buf = s.buf[:0]
	for _, t := range clean {
		s.buf = append(append(s.buf, t.Policy...), ',')
	}
	if c := s.compliances[string(s.buf)]; c != nil {
		return c
	}
	if s.compliances == nil || len(s.compliances) >= maxShared {
		s.compliances = map[string]*compliance{}
	}
	c := &compliance{tallies: clean}
	c.record.outcome = &outcome{clean: c}
	s.compliances[string(s.buf)] = c
	return c
}

// nameMark stands in a kept message for the name of the object, so that those of objects that are alike are the same.
const nameMark = "\x00"

// outcome is what all objects have in common that comply with the same policies and violate others alike. It is
// immutable.
type outcome struct {
	clean  *compliance
	faults []*Fault
}

func (s *Shared) outcomeOf(clean *compliance, faults []Fault, name string) *outcome {
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
	key := outcomeKey{clean, sum.Sum64()}
	known := s.outcomes[key]
	if known != nil && slices.EqualFunc(known.faults, marked, alike) {
		return known
	}
	if s.outcomes == nil || len(s.outcomes) >= maxShared {
		s.outcomes = map[outcomeKey]*outcome{}
	}
	o := &outcome{clean: clean, faults: make([]*Fault, 0, len(marked))}
	for _, f := range marked {
		o.faults = append(o.faults, s.share(f))
	}
	s.outcomes[key] = o
	return o
}

// share is the same fault, kept once.
func (s *Shared) share(f Fault) *Fault {
	if known := s.faults[f]; known != nil {
		return known
	}
	if s.faults == nil || len(s.faults) >= maxShared {
		s.faults = map[Fault]*Fault{}
		s.outcomes = map[outcomeKey]*outcome{} // which hold those that are forgotten
	}
	s.faults[f] = &f
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
