// SPDX-License-Identifier: Apache-2.0

package check

import (
	"maps"

	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/prose"
)

// Subject is one object that is judged.
type Subject struct {
	// Object is the object. Namespace is the Namespace that it lives in; nil for a
	// cluster-scoped object, or where it isn't known.
	Object, Namespace map[string]any
	// Resource is the plural name of the kind's resource; empty where it isn't known.
	Resource string
	// File and Line say where it is written; zero for a live object.
	File string
	Line int
	// LineOf is the line of the field that a JSON Pointer leads to; nil for a live
	// object.
	LineOf func(pointer string) int
	// Document is where it is written; nil for a live object.
	Document *manifest.Document
	// Beside are objects that rules find in place of those of the same names where they look others up: the object
	// itself once it has been changed, say.
	Beside []map[string]any
	// Unscoped says that the namespace of the object is only assumed, and that nothing tells whether its kind lives in
	// namespaces at all.
	Unscoped bool
}

// LookedUp is a state of the object as rules find it where they look it up: where nothing tells whether its kind lives
// in namespaces, in its namespace and in none, for the rules know it.
func (s *Subject) LookedUp(object map[string]any) []map[string]any {
	if !s.Unscoped {
		return []map[string]any{object}
	}
	return []map[string]any{object, within(object, "")}
}

// Title calls the object by kind, namespace and name, or the prefix of the name
// that the server is to make up: "Deployment shop/web". It is one line, whatever the object says.
func (s *Subject) Title() string {
	name := text(s.Object, "metadata", "name")
	if prefix := text(s.Object, "metadata", "generateName"); name == "" && prefix != "" {
		name = prefix + "*"
	}
	if namespace := text(s.Object, "metadata", "namespace"); namespace != "" {
		name = namespace + "/" + name
	}
	return prose.OneLine(text(s.Object, "kind") + " " + name)
}

// Of are the subjects that manifests hold. An object without a namespace gets the
// one that it would be created in, as the API server fills it in before admission
// sees the object, unless its kind is known to be cluster-scoped. namespaces are
// known besides those that the manifests hold themselves, by their names.
func Of(documents []manifest.Document, namespace string, namespaces map[string]map[string]any) []Subject {
	known := maps.Clone(namespaces)
	if known == nil {
		known = map[string]map[string]any{}
	}
	scopes := scopesOf(documents)
	for i := range documents {
		object := documents[i].Object
		if kindOf(object) == policy.NamespaceKind() {
			known[text(object, "metadata", "name")] = object
		}
	}
	subjects := make([]Subject, len(documents))
	for i := range documents {
		d := &documents[i]
		object := d.Object
		unnamed := isUnnamed(object)
		if unnamed && !scopes.cluster(kindOf(object)) {
			object = within(object, namespace)
		}
		subjects[i] = Subject{
			Unscoped:  unnamed && scopes.unknown(kindOf(object)),
			Object:    object,
			Namespace: known[text(object, "metadata", "namespace")],
			File:      d.File,
			Line:      d.Line,
			LineOf:    d.LineOf,
			Document:  d,
		}
	}
	return subjects
}

// isUnnamed says that an object names no namespace. One that isn't text, such as a no without quotes, is a mistake, and
// no reason to put another in its place.
func isUnnamed(object map[string]any) bool {
	metadata, _ := object["metadata"].(map[string]any)
	namespace := metadata["namespace"]
	return namespace == nil || namespace == ""
}

// within is the object in a namespace, or in none; the object itself isn't changed.
func within(object map[string]any, namespace string) map[string]any {
	object = maps.Clone(object)
	written, _ := object["metadata"].(map[string]any)
	metadata := maps.Clone(written)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["namespace"] = namespace
	if namespace == "" {
		delete(metadata, "namespace")
	}
	object["metadata"] = metadata
	return object
}

func kindOf(object map[string]any) policy.GroupKind {
	return policy.NewAudit(object, nil, noTime()).Kind.GroupKind()
}

// text is the string at a path of fields, or empty.
func text(object map[string]any, path ...string) string {
	for _, field := range path[:len(path)-1] {
		object, _ = object[field].(map[string]any)
	}
	value, _ := object[path[len(path)-1]].(string)
	return value
}

// named is the subject with no more of its object than tells it from others.
func (s Subject) named() Subject {
	metadata := map[string]any{}
	for _, field := range []string{"namespace", "name", "generateName", "uid", "resourceVersion"} {
		if value := text(s.Object, "metadata", field); value != "" {
			metadata[field] = value
		}
	}
	s.Object = map[string]any{"apiVersion": s.Object["apiVersion"], "kind": s.Object["kind"], "metadata": metadata}
	s.Namespace = nil
	return s
}
