// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// drawn is a JSON value of few names and texts, so that two of them are often alike.
func drawn(rt *rapid.T, depth int) any {
	kinds := 15
	if depth == 0 {
		kinds = 5
	}
	switch rapid.IntRange(0, kinds-1).Draw(rt, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(rt, "bool")
	case 2:
		return rapid.SampledFrom([]string{"", "a", "b", "ab"}).Draw(rt, "text")
	case 3:
		return rapid.Int64Range(0, 2).Draw(rt, "integer")
	case 4:
		return rapid.SampledFrom([]float64{0.5, 1.5}).Draw(rt, "float")
	case 5, 6, 7, 8, 9:
		list := make([]any, rapid.IntRange(0, 2).Draw(rt, "elements"))
		for i := range list {
			list[i] = drawn(rt, depth-1)
		}
		return list
	default:
		object := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(rt, "fields") {
			object[name(rt)] = drawn(rt, depth-1)
		}
		return object
	}
}

func name(rt *rapid.T) string { return rapid.SampledFrom([]string{"a", "b", "ab"}).Draw(rt, "name") }

// drawnFields are those of some paths.
func drawnFields(rt *rapid.T) *Fields {
	var paths []path
	for range rapid.IntRange(0, 3).Draw(rt, "paths") {
		var p path
		for range rapid.IntRange(0, 3).Draw(rt, "keys") {
			p = append(p, rapid.SampledFrom([]string{"a", "b", "ab", anyKey}).Draw(rt, "key"))
		}
		if rapid.IntRange(0, 3).Draw(rt, "present") == 0 {
			p = append(p, present)
		}
		paths = append(paths, p)
	}
	return fieldsOf(paths)
}

// changed is a copy of a value with a change in it, or without one.
func changed(rt *rapid.T, value any, depth int) any {
	if rapid.IntRange(0, 5).Draw(rt, "here") == 0 {
		return drawn(rt, depth)
	}
	switch v := value.(type) {
	case map[string]any:
		object := map[string]any{}
		at := name(rt)
		for key, field := range v {
			if object[key] = field; key == at {
				object[key] = changed(rt, field, depth-1)
			}
		}
		return object
	case []any:
		list := append([]any{}, v...)
		if len(list) > 0 {
			i := rapid.IntRange(0, len(list)-1).Draw(rt, "element")
			list[i] = changed(rt, list[i], depth-1)
		}
		return list
	default:
		return v
	}
}

// often checks thousands of cases: what differs in few of them must be noticed each time.
func often(t *testing.T, check func(*rapid.T)) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		for range 50 {
			check(rt)
		}
	})
}

func excerptOf(e *Excerpt, value any) []byte {
	text := &Text{Most: 1 << 20}
	text.Excerpt(e, value)
	return text.Bytes
}

// TestAnExcerptIsAllThatIsRead holds an excerpt to Value: the same bytes if, and only if, it makes the same of both.
func TestAnExcerptIsAllThatIsRead(t *testing.T) {
	often(t, func(rt *rapid.T) {
		fields := drawnFields(rt)
		a := drawn(rt, 3)
		b := changed(rt, a, 3)
		same := bytes.Equal(excerptOf(fields.Excerpt(), a), excerptOf(fields.Excerpt(), b))
		holdToValue(rt, fields, a, b, same)
	})
}

// holdToValue holds whether two documents are written the same to whether Value makes the same of them.
func holdToValue(rt *rapid.T, fields *Fields, a, b any, same bool) {
	va, err := fields.Value(asked(fields, a))
	if err != nil {
		rt.Fatal(err)
	}
	vb, err := fields.Value(asked(fields, b))
	if err != nil {
		rt.Fatal(err)
	}
	if same != (va.Compare(vb) == 0) {
		rt.Errorf("of %v and %v Value makes %v and %v, and the same is written: %v", a, b, va, vb, same)
	}
}

// asked is a document in which only whether it is false is left of what is only asked to be there.
func asked(f *Fields, value any) any {
	if f.Excerpt().asksOnly() {
		return value != false
	}
	switch v := value.(type) {
	case map[string]any:
		object := map[string]any{}
		for name, field := range v {
			object[name] = asked(f.Of(name), field)
		}
		return object
	case []any:
		list := make([]any, 0, len(v))
		for _, element := range v {
			list = append(list, asked(f.OfElement(), element))
		}
		return list
	default:
		return v
	}
}

// TestPartsAreAllThatIsRead holds the parts to Value as the excerpt is: what is read of an object is the same if, and
// only if, its parts are.
func TestPartsAreAllThatIsRead(t *testing.T) {
	often(t, func(rt *rapid.T) {
		fields := drawnFields(rt)
		a := map[string]any{"a": drawn(rt, 3), "b": drawn(rt, 3)}
		b, isObject := changed(rt, a, 4).(map[string]any)
		if !isObject {
			return
		}
		holdToValue(rt, fields, a, b, bytes.Equal(partsOf(fields, a), partsOf(fields, b)))
	})
}

func partsOf(fields *Fields, object map[string]any) []byte {
	text, digests := &Text{Most: 1 << 20}, &Digests{}
	parts := fields.Excerpt().Parts()
	for i := range parts {
		text.Part(&parts[i], 0, object, digests)
	}
	return text.Bytes
}

// A part that several policies read is written once, and parts of other shapes or documents are others.
func TestPartsAreShared(t *testing.T) {
	object := map[string]any{"a": map[string]any{"x": "1", "y": "2"}}
	digests := &Digests{}
	write := func(document byte, fields *Fields) {
		parts := fields.Excerpt().Parts()
		for i := range parts {
			(&Text{Most: 1000}).Part(&parts[i], document, object, digests)
		}
	}
	for i, test := range []struct {
		document byte
		fields   *Fields
		want     int
	}{
		{0, Field("a"), 1}, {0, Join(Field("a"), Field("b")), 1}, {1, Field("a"), 2},
		{0, fieldsOf([]path{{"a", anyKey, "b"}}), 3}, {0, fieldsOf([]path{{"a", present}}), 3}, {0, Field("a", "x"), 3},
		{0, All(), 4},
	} {
		if write(test.document, test.fields); len(digests.known) != test.want {
			t.Errorf("after the reader %d, %d digests are known, want %d", i, len(digests.known), test.want)
		}
	}
}
