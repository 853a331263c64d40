// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

// Misfit is a part of a value that its type has no place for.
type Misfit struct {
	// Path leads to it from the top, such as "spec.match.kinds[0].kinds"; empty for the whole.
	Path string
	// Unknown says that the type has no such field, and Message what is wrong, without the path.
	Unknown bool
	Message string
}

// Pointer is the JSON Pointer of the path.
func (m Misfit) Pointer() string {
	elements := pathElement.FindAllString(m.Path, -1)
	if len(elements) == 0 {
		return ""
	}
	return "/" + strings.Join(elements, "/")
}

// String is the misfit with its path, on one line: keys of maps and values may be anybody's.
func (m Misfit) String() string {
	switch {
	case m.Unknown:
		return prose.OneLine(fmt.Sprintf("unknown field %s: %s", m.Path, m.Message))
	case m.Path == "":
		return prose.OneLine(m.Message)
	}
	return prose.OneLine(m.Path + ": " + m.Message)
}

var (
	pathElement  = regexp.MustCompile(`[^.\[\]]+`)
	unknownField = regexp.MustCompile(`unknown field "([^"]+)"`)
)

// maxMisread is how many values of a wrong type are told.
const maxMisread = 20

// Decode reads a value, as unstructured content holds it, into its type, strictly. It gives every field that the type
// doesn't know, and every value that can't be read.
func Decode[T any](value any, into *T) []Misfit {
	var misread []Misfit
	for n := range maxMisread {
		text, err := json.Marshal(value)
		if err != nil {
			return append(misread, Misfit{Message: fmt.Sprintf("it can't be written as JSON: %v", err)})
		}
		read := new(T)
		if len(misread) == 0 {
			read = into // which may hold what isn't in the value
		}
		unknown, err := kjson.UnmarshalStrict(text, read)
		if err == nil {
			return slices.Concat(unknownFields(reflect.TypeFor[T](), unknown), misread)
		}
		reads := func(part any) error {
			text, err := json.Marshal(part)
			if err != nil {
				return err
			}
			return json.Unmarshal(text, new(T))
		}
		at := unreadable(value, func(part any) bool { return reads(part) != nil })
		if plain := reads(alone(value, at)); plain != nil {
			err = plain
		}
		path := pathOf(at)
		misread = append(misread, Misfit{Path: path, Message: misreadBy(err)})
		if value = without(value, at); path == "" || n > 0 && misread[n-1].Path == path {
			return misread[:max(n, 1)]
		}
	}
	return misread
}

func unknownFields(of reflect.Type, errs []error) []Misfit {
	var misfits []Misfit
	for _, err := range errs {
		field := unknownField.FindStringSubmatch(err.Error())
		if field == nil {
			misfits = append(misfits, Misfit{Message: err.Error()})
			continue
		}
		path, _, _ := strings.Cut(field[1], "[")
		now := renamed(path)
		switch {
		case now == "":
			misfits = append(misfits, Misfit{Path: field[1], Unknown: true,
				Message: cmp.Or(ofStrategy(field[1]), "remove it, or correct its spelling"+didYouMean(of, field[1]))})
		case !slices.ContainsFunc(misfits, func(m Misfit) bool { return m.Path == path }):
			misfits = append(misfits, Misfit{Path: path, Unknown: true, Message: "it is now " + now})
		}
	}
	return misfits
}

// renamed is what a field of a spec is called now that had another name; empty for any other.
func renamed(path string) string {
	root := ""
	if strings.HasPrefix(path, "spec.") {
		root = "spec."
	}
	now := map[string]string{
		"enforcement":         "admission.action",
		"failurePolicy":       "admission.failurePolicy",
		"ratchet":             "admission.existingViolations (Allow for true, Deny for false)",
		"match.resources":     "match.kinds",
		"match.operations":    "admission.operations",
		"match.exemptUsers":   "admission.exempt.users",
		"match.exemptGroups":  "admission.exempt.groups",
		"match.labelSelector": "match.objectSelector",
	}[strings.TrimPrefix(path, root)]
	if now == "" {
		return ""
	}
	return root + now
}

// inRemediation is a field of what a policy says of its remediation.
var inRemediation = regexp.MustCompile(`^(?:spec\.)?remediation\.(\w+)$`)

// ofStrategy says that a policy's field is one of its strategy; empty for any other.
func ofStrategy(path string) string {
	field := inRemediation.FindStringSubmatch(path)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[v1alpha1.RemediationStrategySpec]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); field != nil && name == field[1] {
			return "set it in the RemediationStrategy that strategyRef names"
		}
	}
	return ""
}

// didYouMean asks after the field that was most likely meant by an unknown one.
func didYouMean(of reflect.Type, path string) string {
	cut := strings.LastIndex(path, ".") + 1
	if near := prose.Nearest(path[cut:], keysBeside(of, path)); near != "" {
		return "; did you mean " + path[:cut] + near + "?"
	}
	return ""
}

// misreadBy says why a value can't be read, in the words of YAML and not of Go.
func misreadBy(err error) string {
	var kind *json.UnmarshalTypeError
	if !errors.As(err, &kind) {
		return fmt.Sprintf("it can't be read: %v", err)
	}
	wanted := ""
	switch kind.Type.Kind() {
	case reflect.String:
		wanted = "a text"
	case reflect.Bool:
		wanted = "true or false"
	case reflect.Slice, reflect.Array:
		wanted = "a list"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		wanted = "a map of keys"
	default:
		wanted = "a number that " + kind.Type.String() + " holds"
	}
	given, known := map[string]string{"object": "a map of keys", "array": "a list", "string": "a text",
		"bool": "true or false"}[kind.Value]
	if !known {
		given = "a " + kind.Value // number, or one that is too large
	}
	return fmt.Sprintf("it is %s, and must be %s", given, wanted)
}

// unreadable leads to the value, by keys and places in lists, for which a whole that holds nothing else can't be
// read: not every decoder's error says where it happened.
func unreadable(value any, fails func(any) bool) []any {
	switch v := value.(type) {
	case map[string]any:
		if fails(map[string]any{}) {
			return nil // it should be no map at all
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			within := func(part any) bool { return fails(map[string]any{key: part}) }
			if within(v[key]) {
				return append([]any{key}, unreadable(v[key], within)...)
			}
		}
	case []any:
		if fails([]any{}) {
			return nil // nor a list
		}
		for i := range v {
			within := func(part any) bool { return fails([]any{part}) }
			if within(v[i]) {
				return append([]any{i}, unreadable(v[i], within)...)
			}
		}
	}
	return nil
}

func pathOf(at []any) string {
	path := ""
	for _, element := range at {
		if _, isPlace := element.(int); isPlace {
			path += fmt.Sprintf("[%d]", element)
			continue
		}
		path += fmt.Sprintf(".%s", element)
	}
	return strings.TrimPrefix(path, ".")
}

// alone is a value with nothing in it but what is at a place.
func alone(value any, at []any) any {
	if len(at) == 0 {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		key, _ := at[0].(string)
		return map[string]any{key: alone(v[key], at[1:])}
	case []any:
		place, _ := at[0].(int)
		return []any{alone(v[place], at[1:])}
	}
	return value
}

// without is a value with nothing at a place; what isn't on the way to it is shared.
func without(value any, at []any) any {
	if len(at) == 0 {
		return nil
	}
	switch v := value.(type) {
	case map[string]any:
		key, _ := at[0].(string)
		v = maps.Clone(v)
		if v[key] = without(v[key], at[1:]); len(at) == 1 {
			delete(v, key)
		}
		return v
	case []any:
		place, _ := at[0].(int)
		v = slices.Clone(v)
		v[place] = without(v[place], at[1:])
		return v
	}
	return value
}
