// SPDX-License-Identifier: Apache-2.0

package jsonvalue

import (
	"errors"
	"fmt"
	"sync"
)

const (
	// maxDepth is how far objects and lists may be nested: as far as in sigs.k8s.io/json.
	maxDepth = 10_000
	// mostKept bounds how many fields and elements a decoder that is kept has room for.
	mostKept = 4096
	// names is how many names of fields are kept, and longestName how long one is at most, in bytes.
	names       = 512
	longestName = 64
)

// ErrNoObject is for a text that is JSON, but neither an object nor null.
var ErrNoObject = errors.New("it isn't an object")

// Object is the object that a text is; nil for null. Numbers are int64 where they have neither fraction nor exponent
// and fit, float64 otherwise. Of several fields of one name the last counts. The error says at which byte the text is
// no JSON.
func Object(text []byte) (map[string]any, error) {
	d, _ := decoders.Get().(*decoder)
	defer d.keep()
	d.text, d.at, d.depth = text, 0, 0
	value, err := d.value()
	if err != nil {
		return nil, err
	}
	if b := d.token(); b != 0 || d.at < len(text) {
		return nil, d.unexpected("the end")
	}
	object, isObject := value.(map[string]any)
	if !isObject && value != nil {
		return nil, ErrNoObject
	}
	return object, nil
}

var decoders = sync.Pool{New: func() any { return &decoder{} }} //nolint:gochecknoglobals // memory that is used again

// decoder reads one text from its beginning to its end.
type decoder struct {
	text  []byte
	at    int
	depth int
	// fields and elements are those so far of the objects and lists that haven't ended: how many an object has is known
	// when it is made.
	fields   []field
	elements []any
	// unescaped is the latest text with escapes, without them.
	unescaped []byte
	// known are names of fields, so that the names that are in every object are made once.
	known [names]string
}

type field struct {
	name  string
	value any
}

// keep keeps the decoder's memory for another text, and nothing of what was in this one but names.
func (d *decoder) keep() {
	d.text = nil
	if cap(d.fields) > mostKept || cap(d.elements) > mostKept || cap(d.unescaped) > mostKept {
		return
	}
	clear(d.fields)
	clear(d.elements)
	d.fields, d.elements = d.fields[:0], d.elements[:0]
	decoders.Put(d)
}

// token skips white space and says which byte comes next; 0 at the end.
func (d *decoder) token() byte {
	for ; d.at < len(d.text); d.at++ {
		switch b := d.text[d.at]; b {
		case ' ', '\t', '\n', '\r':
		default:
			return b
		}
	}
	return 0
}

func (d *decoder) value() (any, error) {
	switch b := d.token(); b {
	case '{', '[':
		return d.nested(b)
	case '"':
		text, err := d.string()
		if err != nil {
			return nil, err
		}
		return string(text), nil
	case 't':
		return true, d.literal("true")
	case 'f':
		return false, d.literal("false")
	case 'n':
		return nil, d.literal("null")
	default:
		return d.number()
	}
}

func (d *decoder) nested(begin byte) (value any, err error) {
	if d.depth++; d.depth > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d deep at byte %d", maxDepth, d.at)
	}
	if begin == '{' {
		value, err = d.object()
	} else {
		value, err = d.list()
	}
	d.depth--
	return value, err
}

func (d *decoder) object() (any, error) {
	first := len(d.fields)
	for end := d.begins('}'); !end; {
		if d.token() != '"' {
			return nil, d.unexpected("a field's name")
		}
		text, err := d.string()
		if err != nil {
			return nil, err
		}
		name := d.name(text)
		if d.token() != ':' {
			return nil, d.unexpected("a colon")
		}
		d.at++
		value, err := d.value()
		if err != nil {
			return nil, err
		}
		d.fields = append(d.fields, field{name: name, value: value})
		if end, err = d.ends('}'); err != nil {
			return nil, err
		}
	}
	out := make(map[string]any, len(d.fields)-first)
	for _, f := range d.fields[first:] {
		out[f.name] = f.value
	}
	clear(d.fields[first:])
	d.fields = d.fields[:first]
	return out, nil
}

func (d *decoder) list() (any, error) {
	first := len(d.elements)
	for end := d.begins(']'); !end; {
		value, err := d.value()
		if err != nil {
			return nil, err
		}
		d.elements = append(d.elements, value)
		if end, err = d.ends(']'); err != nil {
			return nil, err
		}
	}
	out := make([]any, len(d.elements)-first)
	copy(out, d.elements[first:])
	clear(d.elements[first:])
	d.elements = d.elements[:first]
	return out, nil
}

// begins skips the byte that begins an object or a list, and says that nothing is in it.
func (d *decoder) begins(end byte) (empty bool) {
	d.at++
	if d.token() != end {
		return false
	}
	d.at++
	return true
}

// ends skips what follows a field or an element, and says that it was the last one.
func (d *decoder) ends(end byte) (bool, error) {
	switch d.token() {
	case ',':
		d.at++
		return false, nil
	case end:
		d.at++
		return true, nil
	default:
		return false, d.unexpected(fmt.Sprintf("a comma or %q", end))
	}
}

func (d *decoder) literal(want string) error {
	if len(d.text)-d.at < len(want) || string(d.text[d.at:d.at+len(want)]) != want {
		return d.unexpected(want)
	}
	d.at += len(want)
	return nil
}

// name is the name of a field.
func (d *decoder) name(text []byte) string {
	if len(text) == 0 || len(text) > longestName {
		return string(text)
	}
	place := &d.known[(uint(len(text))*131+uint(text[0])*31+uint(text[len(text)/2])*7+uint(text[len(text)-1]))%names]
	if *place != string(text) {
		*place = string(text)
	}
	return *place
}

func (d *decoder) unexpected(want string) error {
	if d.at >= len(d.text) {
		return fmt.Errorf("it ends at byte %d where %s must stand", d.at, want)
	}
	return fmt.Errorf("it has %q at byte %d where %s must stand", d.text[d.at], d.at, want)
}
