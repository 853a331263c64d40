// SPDX-License-Identifier: Apache-2.0

package action

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"evenkeel.dev/evenkeel/internal/policy"
)

// Field is one place in an object with its value before and after a write.
type Field struct {
	// Path is a JSON Pointer.
	Path string
	// Before and After are the values; HasBefore and HasAfter tell null from absent.
	Before, After       any
	HasBefore, HasAfter bool
}

// Diff finds the fields in which two states of an object differ, smallest places
// first named by their outermost changed part, in order of path. What the server
// itself keeps (metadata.managedFields, resourceVersion, generation and the
// like, and status) doesn't count. A list that changes in its middle counts as
// one field; elements added at its end count one by one. A list element whose
// name tells it from the others is looked into; any other that changes counts as
// one field, for after a reordering a part of it could be taken for another's. The mark
// doesn't count either.
func Diff(before, after map[string]any) []Field {
	var fields []Field
	diffMap("", Unmarked(before), Unmarked(after), &fields)
	return slices.DeleteFunc(fields, func(f Field) bool { return serverOwned(f.Path) })
}

// DiffStatus is Diff for the status alone: what a patch of that subresource changes.
func DiffStatus(before, after map[string]any) []Field {
	var fields []Field
	diffMap("", statusOf(before), statusOf(after), &fields)
	return fields
}

func statusOf(obj map[string]any) map[string]any {
	if status, found := obj["status"]; found {
		return map[string]any{"status": status}
	}
	return nil
}

// DiffStep is the difference that a patch makes in the place that it is sent to.
func DiffStep(before, after map[string]any, subresource string) []Field {
	if subresource == policy.StatusSubresource {
		return DiffStatus(before, after)
	}
	return Diff(before, after)
}

// Beyond is the first field that changed although the fix changes no part of it;
// false when there is none.
func Beyond(fix, changed []Field) (string, bool) {
	for _, c := range changed {
		if !slices.ContainsFunc(fix, func(f Field) bool { return within(c.Path, f.Path) || within(f.Path, c.Path) }) {
			return c.Path, true
		}
	}
	return "", false
}

func serverOwned(path string) bool {
	tokens := Tokens(path)
	if tokens[0] == "status" {
		return true
	}
	if tokens[0] != "metadata" || len(tokens) < 2 {
		return false
	}
	switch tokens[1] {
	case "managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink":
		return true
	}
	return false
}

func diffMap(path string, before, after map[string]any, out *[]Field) {
	keys := slices.Collect(maps.Keys(before))
	for k := range after {
		if _, both := before[k]; !both {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		b, hasBefore := before[k]
		a, hasAfter := after[k]
		diffValue(Join(path, k), Field{Before: b, After: a, HasBefore: hasBefore, HasAfter: hasAfter}, out)
	}
}

func diffValue(path string, f Field, out *[]Field) {
	if f.HasBefore && f.HasAfter {
		if reflect.DeepEqual(f.Before, f.After) {
			return
		}
		bm, okb := f.Before.(map[string]any)
		am, oka := f.After.(map[string]any)
		if okb && oka {
			diffMap(path, bm, am, out)
			return
		}
		bl, okb := f.Before.([]any)
		al, oka := f.After.([]any)
		if okb && oka && diffList(path, bl, al, out) {
			return
		}
	}
	f.Path = path
	*out = append(*out, f)
}

// diffList handles lists that changed in place or grew at the end; it says false
// for every other change, which then counts as one field.
func diffList(path string, before, after []any, out *[]Field) bool {
	if len(after) < len(before) || len(before) == 0 {
		return false
	}
	grew := len(after) > len(before)
	if grew && !reflect.DeepEqual(before, after[:len(before)]) {
		return false
	}
	for i := range before {
		path, f := Join(path, strconv.Itoa(i)),
			Field{Before: before[i], After: after[i], HasBefore: true, HasAfter: true}
		switch {
		case reflect.DeepEqual(f.Before, f.After):
		case sameElement(before, after, i):
			diffValue(path, f, out)
		default:
			f.Path = path
			*out = append(*out, f)
		}
	}
	for i := len(before); i < len(after); i++ {
		*out = append(*out, Field{Path: Join(path, strconv.Itoa(i)), After: after[i], HasAfter: true})
	}
	return true
}

// sameElement says whether the element at a place has kept its name, and shares
// it with no other element before or after.
func sameElement(before, after []any, i int) bool {
	was, named := nameOf(before[i])
	is, stillNamed := nameOf(after[i])
	return named && stillNamed && was == is && countName(before, was) == 1 && countName(after, was) == 1
}

func countName(list []any, name string) int {
	n := 0
	for _, element := range list {
		if other, ok := nameOf(element); ok && other == name {
			n++
		}
	}
	return n
}

// nameOf is the name of a list element that is an object with one.
func nameOf(element any) (string, bool) {
	m, ok := element.(map[string]any)
	if !ok {
		return "", false
	}
	name, ok := m["name"].(string)
	return name, ok
}

// Observe reads the fields' places in an object: the values found there now, without the mark.
func Observe(obj map[string]any, fields []Field) []Field {
	now := make([]Field, 0, len(fields))
	obj = Unmarked(obj)
	for _, f := range fields {
		value, found := Lookup(obj, f.Path)
		now = append(now, Field{Path: f.Path, After: value, HasAfter: found})
	}
	return now
}

// DigestBefore is the SHA-256, in hex, of the fields' places and values before.
func DigestBefore(fields []Field) (string, error) {
	return digest(fields, func(f Field) (any, bool) { return f.Before, f.HasBefore })
}

// DigestAfter is the SHA-256, in hex, of the fields' places and values after.
func DigestAfter(fields []Field) (string, error) {
	return digest(fields, func(f Field) (any, bool) { return f.After, f.HasAfter })
}

func digest(fields []Field, side func(Field) (any, bool)) (string, error) {
	type place struct {
		Path  string `json:"path"`
		Has   bool   `json:"has"`
		Value any    `json:"value"`
	}
	places := make([]place, 0, len(fields))
	for _, f := range fields {
		value, has := side(f)
		places = append(places, place{f.Path, has, value})
	}
	raw, err := json.Marshal(places)
	if err != nil {
		return "", fmt.Errorf("encode the fields: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}
