// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"evenkeel.dev/evenkeel/internal/prose"
)

// finding is an object that a document holds.
type finding struct {
	object map[string]any
	// pointer is the JSON Pointer to it, or to what is wrong.
	pointer string
	// wrong says why there is no object; empty where there is one.
	wrong string
}

// objects gives the objects within a decoded value: itself, or the elements of a
// list, or the items of an object that is a list, of which one may hold another.
func objects(value any, pointer string, each func(finding)) {
	switch v := value.(type) {
	case []any:
		for i, element := range v {
			objects(element, pointer+"/"+strconv.Itoa(i), each)
		}
	case map[string]any:
		items, isList := itemsOf(v, pointer)
		if !isList {
			each(finding{object: v, pointer: pointer})
			return
		}
		if at, what := misfit(items); what != "" {
			each(finding{pointer: pointer + at, wrong: fmt.Sprintf("kubectl takes %s for a list, since it has items, "+
				"and fails: %s isn't %s: make it one, or take the items out", titleOf(v), at, what)})
			return
		}
		for i, item := range filled(v) {
			objects(item, pointer+"/items/"+strconv.Itoa(i), each)
		}
	case nil:
	default:
		each(finding{pointer: pointer})
	}
}

// itemsOf are the items of an object that is a list. That is what kubectl takes for
// one: whatever kind has items. It fails where they are no list, but takes a list's
// item with such as it is.
//
// kubectl applies nothing of what has no item at all. It is an object all the same, unless
// its kind says otherwise: another client may apply it.
func itemsOf(object map[string]any, pointer string) (items any, isList bool) {
	kind, _ := object["kind"].(string)
	items = object["items"]
	if kind == "" || items == nil {
		return nil, false
	}
	elements, isArray := items.([]any)
	if !isArray {
		return items, !isItem(pointer)
	}
	return items, len(elements) > 0 || strings.HasSuffix(kind, "List")
}

// isItem says that a pointer leads to an item of a list.
func isItem(pointer string) bool { return strings.Contains(pointer, "/items/") }

// misfit is what kubectl can't read of a list's items, and what it should be; empty for
// nothing.
func misfit(items any) (pointer, what string) {
	elements, isArray := items.([]any)
	if !isArray {
		return "/items", "a list"
	}
	for i, element := range elements {
		if _, isObject := element.(map[string]any); !isObject {
			return "/items/" + strconv.Itoa(i), "an object"
		}
	}
	return "", ""
}

// filled are the items of a list. Those of a typed list, such as PodList, may lack their
// kind, as the API server writes them: the list's says it then, as for kubectl, whatever
// kind the list is of.
func filled(list map[string]any) []any {
	kind, _ := list["kind"].(string)
	apiVersion, _ := list["apiVersion"].(string)
	items, _ := list["items"].([]any)
	all := make([]any, len(items))
	for i, item := range items {
		all[i] = withKind(item, apiVersion, strings.TrimSuffix(kind, "List"))
	}
	return all
}

// withKind gives an item the kind that it lacks. What isn't text is no kind.
func withKind(item any, apiVersion, kind string) any {
	object, _ := item.(map[string]any)
	itsKind, _ := object["kind"].(string)
	itsVersion, _ := object["apiVersion"].(string)
	if itsKind != "" || itsVersion != "" {
		return item
	}
	object = maps.Clone(object)
	object["apiVersion"], object["kind"] = apiVersion, kind
	return object
}

// titleOf calls an object by its kind and name.
func titleOf(object map[string]any) string {
	kind, _ := object["kind"].(string)
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return prose.Shown(strings.TrimSpace(kind + " " + name))
}
