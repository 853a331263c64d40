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
	// mostKept bounds for how many fields, and for how many elements, memory is kept, and mostUnescaped for how many
	// bytes of a text with escapes.
	mostKept, mostUnescaped = 4096, 4096
	// names is how many names of fields are kept, and longestName how long one is at most, in bytes.
	names       = 512
	longestName = 64
)

// ErrNoObject is for a text that is JSON, but neither an object nor null, and ErrNoList for one that is no list.
var (
	ErrNoObject = errors.New("it isn't an object")
	ErrNoList   = errors.New("it isn't a list")
)

// Decoder decodes texts, and keeps the memory that it takes for the next ones. The zero Decoder is ready to use, by
// several goroutines at once. Of what it has decoded it keeps names of fields alone.
type Decoder struct{ readers sync.Pool }

// Object is the object that a text is; nil for null. Numbers are int64 where they have neither fraction nor exponent
// and fit, float64 otherwise. Of several fields of one name the last counts. The error says at which byte the text is
// no JSON.
func (d *Decoder) Object(text []byte) (map[string]any, error) {
	r := d.begin(text)
	defer d.end(r)
	return r.whole()
}

// Lean is the object that a text is, as Object has it, without metadata.managedFields where that is a list: left is its
// text, a part of the whole, and nil where nothing is left out. It errors where Object does.
func (d *Decoder) Lean(text []byte) (object map[string]any, left []byte, err error) {
	r := d.begin(text)
	defer d.end(r)
	r.lean = true
	object, err = r.whole()
	return object, r.left, err
}

// List is the list that a text is.
func (d *Decoder) List(text []byte) ([]any, error) {
	r := d.begin(text)
	defer d.end(r)
	value, err := r.all()
	list, isList := value.([]any)
	if err == nil && !isList {
		err = ErrNoList
	}
	return list, err
}

func (d *Decoder) begin(text []byte) *reader {
	r, kept := d.readers.Get().(*reader)
	if !kept {
		r = &reader{}
	}
	r.text, r.at, r.depth = text, 0, 0
	return r
}

func (d *Decoder) end(r *reader) {
	r.forget()
	d.readers.Put(r)
}

// reader reads one text from its beginning to its end.
type reader struct {
	text  []byte
	at    int
	depth int
	// fields and elements are those so far of the objects and lists that haven't ended: how many an object has is known
	// when it is made.
	fields   []field
	elements []any
	// unescaped is the latest text with escapes, without them.
	unescaped []byte
	// lean says that managed fields are left out; left is their text. inMetadata says that what is read is a field of
	// the metadata that they are in.
	lean, inMetadata bool
	left             []byte
	// known are names of fields, so that the names that are in every object are made once.
	known [names]string
}

type field struct {
	name  string
	value any
}

// forget keeps memory for another text, and nothing of what was in this one but names.
func (r *reader) forget() {
	r.text, r.left, r.lean, r.inMetadata = nil, nil, false, false
	clear(r.fields) // what is left where the text was no JSON
	clear(r.elements)
	clear(r.unescaped[:cap(r.unescaped)])
	r.fields, r.elements, r.unescaped = r.fields[:0], r.elements[:0], r.unescaped[:0]
	if cap(r.fields) > mostKept {
		r.fields = nil
	}
	if cap(r.elements) > mostKept {
		r.elements = nil
	}
	if cap(r.unescaped) > mostUnescaped {
		r.unescaped = nil
	}
}

// whole reads a text that is an object, or null.
func (r *reader) whole() (map[string]any, error) {
	value, err := r.all()
	if err != nil {
		return nil, err
	}
	object, isObject := value.(map[string]any)
	if !isObject && value != nil {
		return nil, ErrNoObject
	}
	return object, nil
}

// all reads all of a text.
func (r *reader) all() (any, error) {
	value, err := r.value()
	if err != nil {
		return nil, err
	}
	if b := r.token(); b != 0 || r.at < len(r.text) {
		return nil, r.unexpected("the end")
	}
	return value, nil
}

// token skips white space and says which byte comes next; 0 at the end.
func (r *reader) token() byte {
	for ; r.at < len(r.text); r.at++ {
		switch b := r.text[r.at]; b {
		case ' ', '\t', '\n', '\r':
		default:
			return b
		}
	}
	return 0
}

func (r *reader) value() (any, error) {
	switch b := r.token(); b {
	case '{', '[':
		return r.nested(b)
	case '"':
		text, err := r.string()
		if err != nil {
			return nil, err
		}
		return string(text), nil
	case 't':
		return true, r.literal("true")
	case 'f':
		return false, r.literal("false")
	case 'n':
		return nil, r.literal("null")
	default:
		return r.number()
	}
}

func (r *reader) nested(begin byte) (value any, err error) {
	if err := r.deeper(); err != nil {
		return nil, err
	}
	if begin == '{' {
		value, err = r.object()
	} else {
		value, err = r.list()
	}
	r.depth--
	return value, err
}

func (r *reader) deeper() error {
	if r.depth++; r.depth > maxDepth {
		return fmt.Errorf("it is nested more than %d deep at byte %d", maxDepth, r.at)
	}
	return nil
}

func (r *reader) object() (any, error) {
	first := len(r.fields)
	for end := r.begins('}'); !end; {
		text, err := r.fieldName()
		if err != nil {
			return nil, err
		}
		name := r.name(text)
		if err := r.colon(); err != nil {
			return nil, err
		}
		if err := r.field(name); err != nil {
			return nil, err
		}
		if end, err = r.ends('}'); err != nil {
			return nil, err
		}
	}
	out := make(map[string]any, len(r.fields)-first)
	for _, f := range r.fields[first:] {
		out[f.name] = f.value
	}
	clear(r.fields[first:])
	r.fields = r.fields[:first]
	return out, nil
}

// fieldName reads the name of a field, which lasts as long as what string returns.
func (r *reader) fieldName() ([]byte, error) {
	if r.token() != '"' {
		return nil, r.unexpected("a field's name")
	}
	return r.string()
}

func (r *reader) colon() error {
	if r.token() != ':' {
		return r.unexpected("a colon")
	}
	r.at++
	return nil
}

// field reads the value of a field.
func (r *reader) field(name string) error {
	if r.lean && r.depth <= 2 {
		if skipped, err := r.managedFields(name); skipped || err != nil {
			return err
		}
	}
	value, err := r.value()
	if err == nil {
		r.fields = append(r.fields, field{name: name, value: value})
	}
	return err
}

func (r *reader) list() (any, error) {
	first := len(r.elements)
	for end := r.begins(']'); !end; {
		value, err := r.value()
		if err != nil {
			return nil, err
		}
		r.elements = append(r.elements, value)
		if end, err = r.ends(']'); err != nil {
			return nil, err
		}
	}
	out := make([]any, len(r.elements)-first)
	copy(out, r.elements[first:])
	clear(r.elements[first:])
	r.elements = r.elements[:first]
	return out, nil
}

// begins skips the byte that begins an object or a list, and says that nothing is in it.
func (r *reader) begins(end byte) (empty bool) {
	r.at++
	if r.token() != end {
		return false
	}
	r.at++
	return true
}

// ends skips what follows a field or an element, and says that it was the last one.
func (r *reader) ends(end byte) (bool, error) {
	switch r.token() {
	case ',':
		r.at++
		return false, nil
	case end:
		r.at++
		return true, nil
	default:
		return false, r.unexpected(fmt.Sprintf("a comma or %q", end))
	}
}

func (r *reader) literal(want string) error {
	if len(r.text)-r.at < len(want) || string(r.text[r.at:r.at+len(want)]) != want {
		return r.unexpected(want)
	}
	r.at += len(want)
	return nil
}

// name is the name of a field.
func (r *reader) name(text []byte) string {
	if len(text) == 0 || len(text) > longestName {
		return string(text)
	}
	place := &r.known[(uint(len(text))*131+uint(text[0])*31+uint(text[len(text)/2])*7+uint(text[len(text)-1]))%names]
	if *place != string(text) {
		*place = string(text)
	}
	return *place
}

func (r *reader) unexpected(want string) error {
	if r.at >= len(r.text) {
		return fmt.Errorf("it ends at byte %d where %s must stand", r.at, want)
	}
	return fmt.Errorf("it has %q at byte %d where %s must stand", r.text[r.at], r.at, want)
}
