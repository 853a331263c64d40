// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A text that is the digest of a list isn't taken for that list.
func TestATextIsNeverTakenForADigest(t *testing.T) {
	parts := Field("a").Excerpt().Parts()
	of := func(value any) []byte {
		text := &Text{Most: 1000}
		text.Part(&parts[0], 0, map[string]any{"a": value}, &Digests{})
		return text.Bytes
	}
	if list := of([]any{}); list[2] == of("x")[2] { // behind the depth
		t.Errorf("a list is written as %x, a text as %x", list, of("x"))
	}
}

// What stands behind an excerpt is never taken for a part of it.
func TestExcerptsBehindOneAnotherAreToldApart(t *testing.T) {
	often(t, func(rt *rapid.T) {
		fields := drawnFields(rt).Excerpt()
		values := []any{drawn(rt, 2), drawn(rt, 2)}
		others := []any{changed(rt, values[0], 2), changed(rt, values[1], 2)}
		a, b := &Text{Most: 1 << 20}, &Text{Most: 1 << 20}
		same := true
		for i := range values {
			a.Excerpt(fields, values[i])
			b.Excerpt(fields, others[i])
			same = same && bytes.Equal(excerptOf(fields, values[i]), excerptOf(fields, others[i]))
		}
		if bytes.Equal(a.Bytes, b.Bytes) != same {
			rt.Errorf("%v and %v have the same bytes together: %v, and each: %v", values, others, !same, same)
		}
	})
}

func TestFieldsAreToldApart(t *testing.T) {
	fields := fieldsOf([]path{{"a", "a"}, {"a", "b"}, {"b"}}).Excerpt()
	one, two := int64(1), int64(2)
	seen := map[string]int{}
	for i, value := range []any{
		map[string]any{}, map[string]any{"a": one}, map[string]any{"b": one}, map[string]any{"a": one, "b": two},
		map[string]any{"a": two, "b": one}, map[string]any{"a": map[string]any{}, "b": two},
		map[string]any{"a": map[string]any{"a": one}, "b": two},
		map[string]any{"a": map[string]any{"a": one, "b": two}},
		map[string]any{"a": map[string]any{"b": one}, "b": two}, map[string]any{"a": map[string]any{"b": two}},
	} {
		text := string(excerptOf(fields, value))
		if before, there := seen[text]; there {
			t.Errorf("the values %d and %d have the same bytes", before, i)
		}
		seen[text] = i
	}
}

func TestTextsBehindOneAnotherAreToldApart(t *testing.T) {
	of := func(texts ...string) string {
		text := &Text{Most: 100}
		for _, one := range texts {
			text.Text(one)
		}
		return string(text.Bytes)
	}
	if of("a", "bc") == of("ab", "c") || of("") == of() || of("a") == of("a", "") {
		t.Error("texts run into one another")
	}
}

func TestAnExcerptFails(t *testing.T) {
	for about, value := range map[string]any{
		"too long a text": strings.Repeat("x", 100), "too long a name": map[string]any{strings.Repeat("x", 100): nil},
		"too long a list": make([]any, 101), "no JSON value": struct{}{}, "one within": []any{1},
	} {
		text := &Text{Most: 100}
		text.Excerpt(All().Excerpt(), value)
		if !text.Failed {
			t.Errorf("%s: it is written as %d bytes", about, len(text.Bytes))
		}
	}
}

// TestALargePartSpoilsNoOther: whether a part has a digest depends on nothing that stands before it.
func TestALargePartSpoilsNoOther(t *testing.T) {
	object := map[string]any{"large": map[string]any{"x": strings.Repeat("x", MaxText)},
		"small": map[string]any{"y": "1"}, "name": strings.Repeat("n", MaxText-100)}
	digests := &Digests{}
	write := func(fields ...string) bool {
		text := digests.Borrow()
		defer digests.Return(text)
		text.Begin(nil)
		for _, field := range fields {
			for _, part := range Field(field).Excerpt().Parts() {
				text.Part(&part, 0, object, digests)
			}
		}
		return !text.Failed
	}
	if write("large", "small") {
		t.Error("what is too large is written")
	}
	if write("name", "name", "small") {
		t.Error("more than fits is written")
	}
	if !write("small") {
		t.Error("a small part has no digest, for one that stood before it where another reader asked")
	}
	if !write("name", "small") {
		t.Error("what just fits isn't written")
	}
}

// TestWhatIsTooLargeTakesNoMemory: an object of very many fields isn't gathered before it is known not to fit.
func TestWhatIsTooLargeTakesNoMemory(t *testing.T) {
	fields := map[string]any{}
	for i := range 200_000 {
		fields[fmt.Sprint(i)] = int64(i)
	}
	for about, value := range map[string]any{"fields": fields, "elements": make([]any, 200_000),
		"objects": []any{fields, fields}} {
		text := &Text{Most: MaxText}
		text.Excerpt(All().Excerpt(), value)
		if !text.Failed || cap(text.Bytes) > 2*MaxText || cap(text.names) > MaxText {
			t.Errorf("%s: failed %v, with room for %d bytes and %d names", about, text.Failed, cap(text.Bytes),
				cap(text.names))
		}
	}
	text := &Text{Most: MaxText}
	text.Excerpt(All().Excerpt(), map[string]any{"secret": map[string]any{"other": "x"}})
	for _, name := range text.names[:cap(text.names)] {
		if name != "" {
			t.Errorf("it keeps the name %q", name)
		}
	}
}
