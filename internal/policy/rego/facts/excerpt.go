// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"maps"
	"math"
	"slices"
)

// Excerpt writes what Fields.Value makes of a document as bytes: two documents have the same ones only if Value makes
// the same of them, but for what is only asked to be there, of which Excerpt writes no more than that, and whether it
// is false. The nil Excerpt is that of the nil Fields.
type Excerpt struct {
	whole bool
	// names are those of below, sorted; any is of a field of any other name, and of each element of a list.
	names []string
	below []*Excerpt
	any   *Excerpt
}

// Excerpt is that of the fields.
func (f *Fields) Excerpt() *Excerpt {
	if f == nil {
		return nil
	}
	e := &Excerpt{whole: f.whole, any: f.any.Excerpt(), names: slices.Sorted(maps.Keys(f.named))}
	for _, name := range e.names {
		e.below = append(e.below, f.named[name].Excerpt())
	}
	return e
}

// Excerpt writes what rules read of a value, as unstructured content holds it.
func (t *Text) Excerpt(e *Excerpt, value any) {
	if t.Failed {
		return
	}
	if e.asksOnly() {
		t.there(value)
		return
	}
	switch v := value.(type) {
	case map[string]any:
		t.object(e, v)
	case []any:
		t.list(e, v)
	case string:
		t.Text(v)
	case nil:
		t.tag(tagNull)
	case bool:
		if v {
			t.tag(tagTrue)
		} else {
			t.tag(tagFalse)
		}
	case int64:
		t.number(tagInteger, uint64(v))
	case float64:
		t.number(tagFloat, math.Float64bits(v))
	default:
		t.Failed = true
	}
}

// there writes of what is there whether it is false.
func (t *Text) there(value any) {
	if value == false {
		t.tag(tagFalse)
	} else {
		t.tag(tagThere)
	}
}

// asksOnly says that it is only asked whether something is there.
func (e *Excerpt) asksOnly() bool { return e != nil && !e.whole && e.any == nil && len(e.names) == 0 }

// Whole writes all of a value.
func (t *Text) Whole(value any) { t.Excerpt(&Excerpt{whole: true}, value) }

func (t *Text) object(e *Excerpt, fields map[string]any) {
	switch {
	case e == nil:
		t.size(tagObject, 0)
	case e.whole || e.any != nil:
		t.everyField(e, fields)
	default:
		t.tag(tagObject)
		for i, name := range e.names {
			if value, there := fields[name]; there {
				t.Text(name)
				t.Excerpt(e.below[i], value)
			}
		}
		t.None()
	}
}

// everyField writes all fields of which anything is read, and those are all. Where they are too many it doesn't begin:
// each takes two bytes at least.
func (t *Text) everyField(e *Excerpt, fields map[string]any) {
	if !t.room(2 * len(fields)) {
		return
	}
	first := len(t.names)
	for name := range fields {
		t.names = append(t.names, name)
	}
	slices.Sort(t.names[first:])
	t.size(tagObject, len(fields))
	for i := range len(fields) {
		name := t.names[first+i]
		t.Text(name)
		t.Excerpt(e.of(name), fields[name])
	}
	clear(t.names[first:])
	t.names = t.names[:first]
}

// of is what is read of a field, where any is read.
func (e *Excerpt) of(name string) *Excerpt {
	if e.whole {
		return e
	}
	if i, named := slices.BinarySearch(e.names, name); named {
		return e.below[i]
	}
	return e.any
}

func (t *Text) list(e *Excerpt, elements []any) {
	t.size(tagList, len(elements))
	of := e
	switch {
	case e == nil || !e.whole && e.any == nil:
		of = &Excerpt{whole: true}
	case !e.whole:
		of = e.any
	}
	for _, element := range elements {
		t.Excerpt(of, element)
	}
}
