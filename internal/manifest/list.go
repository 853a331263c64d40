// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"maps"
	"strings"
)

// listItems are the items of a List kind, such as List or PodList. The items of a
// typed list may lack their kind, as the API server writes them: the list's says
// it then, as for kubectl.
func listItems(object map[string]any) ([]any, bool) {
	kind, _ := object["kind"].(string)
	items, isList := object["items"].([]any)
	itemKind, named := strings.CutSuffix(kind, "List")
	if !isList || !named {
		return nil, false
	}
	if itemKind == "" {
		return items, true
	}
	filled := make([]any, len(items))
	for i, item := range items {
		filled[i] = withKind(item, object["apiVersion"], itemKind)
	}
	return filled, true
}

func withKind(item any, apiVersion any, kind string) any {
	object, isObject := item.(map[string]any)
	if !isObject || object["kind"] != nil || object["apiVersion"] != nil {
		return item
	}
	object = maps.Clone(object)
	object["apiVersion"], object["kind"] = apiVersion, kind
	return object
}
