// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// createDefinition makes another object, before the judged one is changed. What is
// made carries labels that name policy and plan, by which it is known after a
// crash. It is undone by deleting it, unless somebody has changed it since.
func createDefinition() Definition {
	return Definition{Type: policy.ActionCreate, Allowed: v1alpha1.ActionCreate,
		Describe: func(a policy.Action, _ int) string { return "create " + nameOfObject(a.Object) },
		rank:     rankCreate, write: create}
}

func create(obj map[string]any, a policy.Action, _ time.Time) (Step, error) {
	made := deepCopy(a.Object)
	name := nameOfObject(made)
	kind := kindOf(made)
	if kind == (policy.GroupKind{Kind: "Secret"}) {
		return Step{}, fmt.Errorf("create %s: a Secret's values mustn't be recorded, and a write that isn't recorded "+
			"can't be undone: make it by hand", name)
	}
	if kind.Group == v1alpha1.GroupVersion.Group {
		return Step{}, fmt.Errorf("create %s: Evenkeel's own kinds aren't made by a fix", name)
	}
	metadata, ok := made["metadata"].(map[string]any)
	if !ok {
		return Step{}, fmt.Errorf("create %s: its metadata isn't an object", name)
	}
	for key := range metadata {
		if !slices.Contains([]string{"name", "namespace", "labels", "annotations"}, key) {
			return Step{}, fmt.Errorf(
				"create %s: metadata.%s can't be given: a manifest has name, namespace, labels and annotations", name,
				key)
		}
	}
	if _, given := made["status"]; given {
		return Step{}, fmt.Errorf("create %s: status can't be given", name)
	}
	home, _ := Lookup(obj, "/metadata/namespace")
	if kindOf(obj) == policy.NamespaceKind() {
		home, _ = Lookup(obj, "/metadata/name")
	}
	if given, found := metadata["namespace"]; found && given != home {
		return Step{}, fmt.Errorf("create %s: its namespace must be the violating object's, %v", name, home)
	}
	return Step{Type: v1alpha1.ActionCreate, Object: made}, nil
}

// Made are the objects that some steps make of an object, each in the namespace that it is made in.
func Made(obj map[string]any, steps []Step) (made []map[string]any) {
	home, _ := Lookup(obj, "/metadata/namespace")
	for _, s := range steps {
		if !s.Type.Creates() {
			continue
		}
		manifest := deepCopy(s.Object)
		if metadata, _ := manifest["metadata"].(map[string]any); home != nil && metadata["namespace"] == nil {
			metadata["namespace"] = home
		}
		made = append(made, manifest)
	}
	return made
}

// Marked is a manifest with labels and annotations added.
func Marked(manifest map[string]any, labels, annotations map[string]string) map[string]any {
	out := deepCopy(manifest)
	metadata, _ := out["metadata"].(map[string]any)
	for key, add := range map[string]map[string]string{"labels": labels, "annotations": annotations} {
		all, ok := metadata[key].(map[string]any)
		if !ok {
			all = map[string]any{}
			metadata[key] = all
		}
		for k, v := range add {
			all[k] = v
		}
	}
	return out
}

// Holds says whether an object holds all that a manifest asks for: every field
// given has the value given. Lists must be of one length.
func Holds(object, manifest any) bool {
	switch want := manifest.(type) {
	case map[string]any:
		got, ok := object.(map[string]any)
		if !ok {
			return false
		}
		for k, v := range want {
			if !Holds(got[k], v) {
				return false
			}
		}
		return true
	case []any:
		got, ok := object.([]any)
		if !ok || len(got) != len(want) {
			return false
		}
		for i := range want {
			if !Holds(got[i], want[i]) {
				return false
			}
		}
		return true
	default:
		return reflect.DeepEqual(object, manifest)
	}
}

// Content is an object without metadata and status: what its author wrote, and
// what tells whether somebody has changed it since.
func Content(obj map[string]any) map[string]any {
	out := maps.Clone(obj)
	delete(out, "metadata")
	delete(out, "status")
	return out
}
