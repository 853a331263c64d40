// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"
)

// splice puts text in the place of what is from start to end.
type splice struct {
	start, end int
	text       string
}

func (s splice) apply(text []byte) []byte {
	return slices.Concat(text[:s.start], []byte(s.text), text[s.end:])
}

// difference is the first splice on the way from have, which is written at e, to
// want. The two differ.
func (p *page) difference(e *entry, have, want any) (splice, error) {
	switch w := want.(type) {
	case map[string]any:
		h, isMap := have.(map[string]any)
		if isMap && len(h) > 0 && len(w) > 0 && e.value.node.Kind == yaml.MappingNode {
			return p.mapping(e.value, h, w)
		}
	case []any:
		h, isList := have.([]any)
		if isList && len(h) > 0 && len(w) > 0 && e.value.node.Kind == yaml.SequenceNode {
			return p.sequence(e.value, h, w)
		}
	}
	return p.replace(e, want)
}

// mapping takes away, changes and adds members, in this order.
func (p *page) mapping(at *part, have, want map[string]any) (splice, error) {
	for i, e := range at.entries {
		if e.merge {
			continue
		}
		value, wanted := want[e.name]
		if _, known := have[e.name]; !known {
			return splice{}, fmt.Errorf("%w (the key %q isn't a text)", ErrByHand, e.name)
		}
		if !wanted {
			if len(at.entries) == 1 { // the others come by and by
				return p.add(at, missing(have, want)[0], want)
			}
			return p.remove(at, i), nil
		}
		if !reflect.DeepEqual(have[e.name], value) {
			return p.difference(e, have[e.name], value)
		}
	}
	if keys := missing(have, want); len(keys) > 0 {
		return p.add(at, keys[0], want)
	}
	return splice{}, fmt.Errorf("%w (a field to be removed comes from an anchor)", ErrByHand)
}

// missing are the keys that want has and have hasn't, or merges in with another value.
func missing(have, want map[string]any) []string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if value, found := have[key]; !found || !reflect.DeepEqual(value, want[key]) {
			keys = append(keys, key)
		}
	}
	return keys
}

func (p *page) add(at *part, key string, want map[string]any) (splice, error) {
	return p.insert(at, len(at.entries), map[string]any{key: want[key]})
}

// sequence takes away, inserts and changes elements so that those that stay keep
// their comments.
func (p *page) sequence(at *part, have, want []any) (splice, error) {
	if len(at.entries) != len(have) {
		return splice{}, fmt.Errorf("%w (a list isn't written as it is read)", ErrByHand)
	}
	i := 0
	for i < len(have) && i < len(want) && reflect.DeepEqual(have[i], want[i]) {
		i++
	}
	switch {
	case len(want) < len(have) && (i == len(want) || moved(have[i+1:], want[i])):
		return p.remove(at, i), nil
	case len(want) > len(have) && (i == len(have) || moved(want[i+1:], have[i])):
		return p.insert(at, i, []any{want[i]})
	}
	return p.difference(at.entries[i], have[i], want[i])
}

// moved says whether an element is among others: by its name, where it has one.
func moved(others []any, element any) bool {
	return slices.ContainsFunc(others, func(other any) bool {
		if name := nameOf(element); name != nil {
			return name == nameOf(other)
		}
		return reflect.DeepEqual(other, element)
	})
}

func nameOf(element any) any {
	object, _ := element.(map[string]any)
	if name, isText := object["name"].(string); isText {
		return name
	}
	return nil
}
