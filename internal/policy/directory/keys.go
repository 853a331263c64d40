// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"reflect"
	"regexp"
	"strings"
)

var listIndex = regexp.MustCompile(`\[\d+\]$`)

// keysBeside are the keys that a type knows where an unknown one is written, such as
// "match.kinds[0].kindz"; none where it knows no keys there.
func keysBeside(at reflect.Type, key string) []string {
	elements := strings.Split(key, ".")
	for _, element := range elements[:len(elements)-1] {
		name, found := element, false
		for listIndex.MatchString(name) {
			name = listIndex.ReplaceAllString(name, "")
		}
		if at, found = below(at, name); !found {
			return nil
		}
		for at.Kind() == reflect.Pointer || at.Kind() == reflect.Slice {
			at = at.Elem()
		}
	}
	var names []string
	for name := range keysOf(at) {
		names = append(names, name)
	}
	return names
}

// below is the type of a key; that of an empty name is the type itself: a path may begin with a place in a list.
func below(at reflect.Type, name string) (reflect.Type, bool) {
	if name == "" {
		return at, true
	}
	kind, found := keysOf(at)[name]
	return kind, found
}

// keysOf are the JSON keys of a struct with their types, those of embedded structs
// among them.
func keysOf(t reflect.Type) map[string]reflect.Type {
	keys := map[string]reflect.Type{}
	if t.Kind() != reflect.Struct {
		return keys
	}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported():
		case name == "" && field.Anonymous:
			for inner, kind := range keysOf(field.Type) {
				keys[inner] = kind
			}
		case name != "":
			keys[name] = field.Type
		}
	}
	return keys
}
