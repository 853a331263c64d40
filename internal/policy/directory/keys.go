// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"reflect"
	"regexp"
	"strings"
)

var listIndex = regexp.MustCompile(`\[\d+\]$`)

// keysBeside are the keys that the API knows where an unknown one is written, such as
// "custom.match.resources[0].kindz"; none where it knows no keys there.
func keysBeside(key string) []string {
	at := reflect.TypeFor[custom]()
	elements := strings.Split(strings.TrimPrefix(key, "custom."), ".")
	for _, element := range elements[:len(elements)-1] {
		name, found := element, false
		for listIndex.MatchString(name) {
			name = listIndex.ReplaceAllString(name, "")
		}
		if at, found = keysOf(at)[name]; !found {
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
