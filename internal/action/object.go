// SPDX-License-Identifier: Apache-2.0

package action

import (
	"maps"
	"strconv"
	"strings"

	"evenkeel.dev/evenkeel/internal/policy"
)

func kindOf(obj map[string]any) policy.GroupKind {
	apiVersion, _ := obj["apiVersion"].(string)
	kind, _ := obj["kind"].(string)
	group, _, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		group = ""
	}
	return policy.GroupKind{Group: group, Kind: kind}
}

// nameOfObject tells an object to people: "ConfigMap web".
func nameOfObject(obj map[string]any) string {
	kind, _ := obj["kind"].(string)
	name, _ := Lookup(obj, "/metadata/name")
	text, _ := name.(string)
	return kind + " " + text
}

func formatInt(n int64) string { return strconv.FormatInt(n, 10) }

// deepCopy copies a JSON tree.
func deepCopy(obj map[string]any) map[string]any {
	out := maps.Clone(obj)
	for k, v := range out {
		out[k] = copyValue(v)
	}
	return out
}

func copyValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return deepCopy(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = copyValue(v[i])
		}
		return list
	default:
		return v
	}
}
