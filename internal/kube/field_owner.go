// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FieldOwners are the entries of an object's managedFields, decoded once: whoever edits the
// object decides how many they are, and how large.
type FieldOwners struct {
	object  map[string]any
	entries []metav1.ManagedFieldsEntry
	// sets are what the entries have set, in their order; nil for one that can't be read.
	sets []map[string]any
}

// FieldOwnersOf decodes the entries of an object.
func FieldOwnersOf(object map[string]any, entries []metav1.ManagedFieldsEntry) *FieldOwners {
	f := &FieldOwners{object: object, entries: entries}
	for _, entry := range entries {
		var set map[string]any
		if entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &set) != nil {
			set = nil
		}
		f.sets = append(f.sets, set)
	}
	return f
}

// AnyOwns says whether one of the entries that are chosen has set a place of the object, a
// part of it, or what it lies in as a whole. The place is given by its tokens. An entry that
// can't be read owns everything: nobody's change is to be taken for another's.
//
// An entry that ends above the place, like {"f:data": {}}, holds it only where no other entry
// of the object names a part of that: else the parts are set one by one, and the entry stands
// for a map whose keys others have taken over.
func (f *FieldOwners) AnyOwns(place []string, chosen func(metav1.ManagedFieldsEntry) bool) bool {
	for i, entry := range f.entries {
		if chosen(entry) && (f.sets[i] == nil || owns(f.sets[i], f.sets, f.object, place)) {
			return true
		}
	}
	return false
}

// owns finds a place in a set; all are the sets of all entries.
func owns(set map[string]any, all []map[string]any, value any, place []string) bool {
	if len(place) == 0 {
		return true
	}
	keys, inner := keysOf(set, value, place[0])
	for _, key := range keys {
		within, found := set[key].(map[string]any)
		if !found {
			continue
		}
		if below := partsOf(all, key); len(within) == 0 && len(below) == 0 || owns(within, below, inner, place[1:]) {
			return true
		}
	}
	return false
}

// keysOf are the keys of a set under which a token of a place may stand, and what the object
// holds there; no keys for an element that isn't there.
func keysOf(set map[string]any, value any, token string) (keys []string, inner any) {
	switch v := value.(type) {
	case map[string]any:
		inner = v[token]
	case []any:
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(v) {
			return nil, nil
		}
		return elementKeys(set, v[i], token), v[i]
	}
	return []string{"f:" + token}, inner
}

func partsOf(sets []map[string]any, key string) []map[string]any {
	var below []map[string]any
	for _, set := range sets {
		if within, ok := set[key].(map[string]any); ok && len(within) > 0 {
			below = append(below, within)
		}
	}
	return below
}

// elementKeys are the keys of a set under which an element of a list stands: by its
// place, its value, or the fields that tell it from the others.
func elementKeys(set map[string]any, element any, index string) []string {
	var keys []string
	for key := range set {
		kind, text, _ := strings.Cut(key, ":")
		var told any
		switch {
		case kind == "i" && text == index:
			keys = append(keys, key)
		case kind == "v" && json.Unmarshal([]byte(text), &told) == nil && same(element, told),
			kind == "k" && json.Unmarshal([]byte(text), &told) == nil && hasFields(element, told):
			keys = append(keys, key)
		}
	}
	return keys
}

// hasFields says whether an element has some fields. One that has none of a name may have
// its default.
func hasFields(element, told any) bool {
	fields, _ := told.(map[string]any)
	object, ok := element.(map[string]any)
	for name, want := range fields {
		if is, found := object[name]; found && !same(is, want) {
			return false
		}
	}
	return ok && len(fields) > 0
}

// same compares values as JSON has them: a number is a number.
func same(a, b any) bool {
	one, errOne := json.Marshal(a)
	other, errOther := json.Marshal(b)
	return errOne == nil && errOther == nil && reflect.DeepEqual(one, other)
}
