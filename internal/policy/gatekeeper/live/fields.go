// SPDX-License-Identifier: Apache-2.0

package live

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// maxMade is how many bytes of a spec a policy keeps in an annotation: all annotations together may have 256 KiB.
const maxMade = 128 << 10

// edited are the fields of a policy that somebody has changed since migration wrote it, as "spec.match.namespaces",
// sorted: those that are neither as it was made nor as wanted has them. What isn't said of how it was made counts as
// what is wanted. People set admission.action when they move
// enforcement: it doesn't count.
func edited(stored, wanted *unstructured.Unstructured) ([]string, error) {
	want, err := fieldsOf(wanted.Object["spec"])
	if err != nil {
		return nil, err
	}
	has, err := fieldsOf(stored.Object["spec"])
	if err != nil {
		return nil, err
	}
	made := want
	if text := stored.GetAnnotations()[v1alpha1.AnnotationMigratedSpec]; text != "" {
		if made, err = fieldsOf(json.RawMessage(text)); err != nil {
			return nil, err
		}
	}
	all := maps.Clone(made)
	maps.Copy(all, has)
	var out []string
	for field := range all {
		if has[field] != made[field] && has[field] != want[field] {
			out = append(out, field)
		}
	}
	slices.Sort(out)
	return out, nil
}

// fieldsOf are the values of a policy's spec with its defaults, as JSON, by their path; without those that are empty.
func fieldsOf(spec any) (map[string]string, error) {
	raw, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return nil, fmt.Errorf("encode a policy: %w", err)
	}
	p := &v1alpha1.ClusterRegoPolicy{}
	if err := json.Unmarshal(raw, p); err != nil {
		return nil, fmt.Errorf("decode a policy: %w", err)
	}
	p.SetDefaults()
	if raw, err = json.Marshal(p.Spec); err != nil {
		return nil, fmt.Errorf("encode a policy: %w", err)
	}
	var values map[string]any
	if err := json.Unmarshal(raw, &values); err != nil {
		return nil, fmt.Errorf("decode a policy: %w", err)
	}
	unstructured.RemoveNestedField(values, "admission", "action")
	out := map[string]string{}
	flatten(out, "spec", values)
	return out, nil
}

// flatten puts the leaves of a value into out. A list is a leaf, and its order counts for nothing.
func flatten(out map[string]string, path string, value any) {
	switch v := value.(type) {
	case nil:
	case map[string]any:
		for key, below := range v {
			flatten(out, path+"."+key, below)
		}
	case []any:
		items := make([]string, 0, len(v))
		for _, item := range v {
			items = append(items, encoded(item))
		}
		slices.Sort(items)
		if len(items) > 0 {
			out[path] = strings.Join(items, ",")
		}
	default:
		out[path] = encoded(v)
	}
}

func encoded(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value) // what was read as JSON is JSON again
	}
	return string(raw)
}
