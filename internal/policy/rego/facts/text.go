// SPDX-License-Identifier: Apache-2.0

package facts

import "encoding/binary"

// MaxText bounds, in bytes, the texts that digests are made of.
const MaxText = 64 << 10

// Text is bytes that excerpts are written to, each behind the other. Values of different types, and parts of different
// lengths, are told apart by what stands before them.
type Text struct {
	Bytes []byte
	// Most bounds the bytes. Failed says that they would have become more, or that something isn't a JSON value; then
	// nothing more is written.
	Most   int
	Failed bool
	// names are the fields of the objects that are being written.
	names []string
}

// What stands before a value.
const (
	tagNone byte = iota
	tagNull
	tagFalse
	tagTrue
	tagText
	tagInteger
	tagFloat
	tagObject
	tagList
	tagDigest
	tagThere
)

// Begin begins with some bytes, and nothing else.
func (t *Text) Begin(with []byte) { t.Bytes, t.Failed = append(t.Bytes[:0], with...), false }

// None writes that there is nothing.
func (t *Text) None() { t.tag(tagNone) }

// Text writes a text.
func (t *Text) Text(text string) {
	t.size(tagText, len(text))
	if t.room(len(text)) {
		t.Bytes = append(t.Bytes, text...)
	}
}

// room says whether so many bytes more may be written. Where they mayn't, nothing may any more.
func (t *Text) room(bytes int) bool {
	t.Failed = t.Failed || len(t.Bytes)+bytes > t.Most
	return !t.Failed
}

func (t *Text) tag(tag byte) {
	if t.room(1) {
		t.Bytes = append(t.Bytes, tag)
	}
}

func (t *Text) size(tag byte, size int) {
	if t.tag(tag); !t.Failed {
		t.Bytes = binary.AppendUvarint(t.Bytes, uint64(size))
	}
}

func (t *Text) number(tag byte, bits uint64) {
	if t.tag(tag); t.room(8) {
		t.Bytes = binary.LittleEndian.AppendUint64(t.Bytes, bits)
	}
}
