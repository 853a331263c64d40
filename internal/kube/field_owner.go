package kube

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Owns says whether a field manager has set a place of an object, a part of it, or what it
// lies in as a whole. The place is given by its tokens. An entry that can't be read owns
// everything: nobody's change is to be taken for another's.
func Owns(entry metav1.ManagedFieldsEntry, object map[string]any, place []string) bool {
	if entry.FieldsV1 == nil {
		return true
	}
	var set map[string]any
	if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &set); err != nil {
		return true
	}
	return owns(set, object, place)
}

func owns(set map[string]any, value any, place []string) bool {
	if len(place) == 0 {
		return true
	}
	keys := []string{"f:" + place[0]}
	var inner any
	switch v := value.(type) {
	case map[string]any:
		inner = v[place[0]]
	case []any:
		i, err := strconv.Atoi(place[0])
		if err != nil || i < 0 || i >= len(v) {
			return false
		}
		inner = v[i]
		keys = elementKeys(set, inner, place[0])
	}
	for _, key := range keys {
		within, found := set[key].(map[string]any)
		if found && (len(within) == 0 || owns(within, inner, place[1:])) {
			return true
		}
	}
	return false
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
