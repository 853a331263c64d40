// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/scaffold"
)

// warnOfMisspelt warns of each kind among manifests that looks like another one misspelt: no policy judges its
// objects, which looks as if all were well.
func warnOfMisspelt(stderr io.Writer, snapshot *catalog.Snapshot, documents []manifest.Document) {
	matched := kindsMatched(snapshot)
	for _, defined := range kindsDefined(documents) {
		matched[defined.Group] = append(matched[defined.Group], defined.Kind)
	}
	told := map[schema.GroupKind]bool{}
	for i := range documents {
		d := &documents[i]
		object := unstructured.Unstructured{Object: d.Object}
		kind := object.GroupVersionKind().GroupKind()
		if told[kind] || kind.Kind == "" || slices.Contains(matched[kind.Group], kind.Kind) {
			continue
		}
		told[kind] = true
		if meant := meantBy(kind, matched[kind.Group]); meant != "" {
			fmt.Fprintln(stderr, "warning:", manifest.Problem{File: d.File, Line: d.LineOf("/kind"),
				Message: fmt.Sprintf("no policy matches the kind %q of %s, so that none judges it; did you mean %s?",
					kind.Kind, object.GetAPIVersion(), meant)})
		}
	}
}

// meantBy is what a kind looks like that was misspelt: one of Kubernetes or its group, or one of those that policies
// match in the group; empty for none, and for a kind of Kubernetes.
func meantBy(kind schema.GroupKind, matched []string) string {
	if unknown, meant := scaffold.Unknown(kind.Group, kind.Kind); unknown {
		return meant
	}
	if found, known := scaffold.Kind(kind.Kind + "." + kind.Group); known && found.Kind == kind.Kind {
		return ""
	}
	return prose.Nearest(kind.Kind, matched)
}

// kindsMatched are the kinds that policies match, and Evenkeel's own, by group.
func kindsMatched(snapshot *catalog.Snapshot) map[string][]string {
	kinds := map[string][]string{}
	for _, p := range snapshot.Policies() {
		for _, r := range p.Spec.Match.Kinds {
			for _, group := range r.Groups() {
				kinds[group] = append(kinds[group], r.Kinds...)
			}
		}
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err == nil {
		for own := range scheme.KnownTypes(v1alpha1.GroupVersion) {
			kinds[v1alpha1.GroupVersion.Group] = append(kinds[v1alpha1.GroupVersion.Group], own)
		}
	}
	return kinds
}

// kindsDefined are the kinds of the CustomResourceDefinitions among manifests.
func kindsDefined(documents []manifest.Document) (kinds []schema.GroupKind) {
	for i := range documents {
		object := documents[i].Object
		if object["kind"] != "CustomResourceDefinition" {
			continue
		}
		group, _, _ := unstructured.NestedString(object, "spec", "group")
		kind, _, _ := unstructured.NestedString(object, "spec", "names", "kind")
		kinds = append(kinds, schema.GroupKind{Group: group, Kind: kind})
	}
	return kinds
}
