// SPDX-License-Identifier: Apache-2.0

package template

import (
	"encoding/json"
	"maps"
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// defaults is what the defaults of a schema add to a value that is held against it; nil is
// nothing. They are filled into what they have put there themselves, so lists of objects within
// each other would multiply: what they add is known before they are let.
type defaults struct {
	// own is how many bytes the default of the value itself has, and absent how many they put
	// in its place where it is absent.
	own, absent int

	properties map[string]*defaults
	others     *defaults
	items      *defaults
}

// defaultsOf reads the defaults of a schema. An error is of one that holds something above
// others: each thing that it holds would be filled by those.
func defaultsOf(path *field.Path, s *structuralschema.Structural) (*defaults, field.ErrorList) {
	if s == nil {
		return nil, nil
	}
	d := &defaults{properties: map[string]*defaults{}}
	var found field.ErrorList
	within := func(path *field.Path, s *structuralschema.Structural) *defaults {
		of, more := defaultsOf(path, s)
		found = append(found, more...)
		return of
	}
	d.items = within(path.Child("items"), s.Items)
	if s.AdditionalProperties != nil {
		d.others = within(path.Child("additionalProperties"), s.AdditionalProperties.Structural)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		if of := within(path.Child("properties").Key(name), &property); of != nil {
			d.properties[name] = of
		}
	}
	value, below := s.Default.Object, d.items != nil || d.others != nil || len(d.properties) > 0
	switch {
	case value != nil:
		d.own = length(value)
		d.absent = d.own + d.added(value)
	case !below:
		return nil, found
	}
	if below && holds(value) {
		found = append(found, field.Forbidden(path.Child("default"),
			"a default that holds something can't stand above other defaults: make it empty, or take the defaults "+
				"below it away"))
	}
	return d, found
}

func holds(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return len(value) > 0
	case []any:
		return len(value) > 0
	}
	return false
}

func (d *defaults) total() int {
	if d == nil {
		return 0
	}
	sum := d.own + d.items.total() + d.others.total()
	for _, property := range d.properties {
		sum += property.total()
	}
	return sum
}

func length(value any) int {
	text, _ := json.Marshal(value) //nolint:errchkjson // it was read from JSON
	return len(text)
}

// added is how many bytes defaults add to a value, or somewhat more.
func (d *defaults) added(value any) int {
	if d == nil {
		return 0
	}
	sum := 0
	switch value := value.(type) {
	case nil:
		return d.absent
	case map[string]any:
		return d.addedTo(value)
	case []any:
		for _, item := range value {
			sum += d.items.added(item)
		}
	}
	return sum
}

func (d *defaults) addedTo(object map[string]any) int {
	sum := 0
	for name, property := range d.properties {
		if of := object[name]; of != nil {
			sum += property.added(of)
		} else if property.absent > 0 {
			sum += len(name) + len(`"":,`) + property.absent
		}
	}
	if d.others == nil {
		return sum
	}
	for name, of := range object {
		if _, is := d.properties[name]; !is {
			sum += d.others.added(of)
		}
	}
	return sum
}
