// SPDX-License-Identifier: Apache-2.0

package source

import (
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// owner is a PolicySource, as its objects name it.
type owner struct{ namespace, name string }

func ownerOf(src *v1alpha1.PolicySource) owner { return owner{src.Namespace, src.Name} }

func (o owner) String() string { return o.namespace + "/" + o.name }

func (o owner) labels() map[string]string {
	return map[string]string{v1alpha1.LabelSourceNamespace: o.namespace, v1alpha1.LabelSourceName: o.name}
}

// namedBy is the source that an object's labels name; false for none.
func namedBy(labels map[string]string) (owner, bool) {
	o := owner{labels[v1alpha1.LabelSourceNamespace], labels[v1alpha1.LabelSourceName]}
	return o, o.namespace != "" && o.name != ""
}

// inStep says whether an object in the cluster is what the repository says, and is
// marked as the source's. Labels and annotations of others don't count.
func inStep(live client.Object, want object, o owner) (bool, error) {
	by, _ := namedBy(live.GetLabels())
	if by != o || live.GetAnnotations()[v1alpha1.AnnotationSourcePath] != want.dir ||
		live.GetAnnotations()[v1alpha1.AnnotationSourceRevision] == "" {
		return false, nil
	}
	return sameSpec(specOf(live), want.spec)
}

// sameSpec compares what was authored, so that a default which somebody has written into
// the cluster is taken out again; an absent list and an empty one, or parameters in
// another layout, are the same.
func sameSpec(a, b any) (bool, error) {
	left, err := authored(a)
	if err != nil {
		return false, err
	}
	right, err := authored(b)
	if err != nil {
		return false, err
	}
	return reflect.DeepEqual(left, right), nil
}

// authored is a spec in JSON values, without any default.
func authored(spec any) (map[string]any, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode a spec: %w", err)
	}
	var values map[string]any
	if err := json.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("decode a spec: %w", err)
	}
	return values, nil
}

func manifest(want object, o owner, revision string) (*unstructured.Unstructured, error) {
	spec, err := authored(want.spec)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", want, err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(string(want.kind)))
	object.SetName(want.name)
	object.SetLabels(o.labels())
	object.SetAnnotations(
		map[string]string{v1alpha1.AnnotationSourcePath: want.dir, v1alpha1.AnnotationSourceRevision: revision})
	return object, nil
}

// claim says why an object in the cluster isn't the source's to write; empty when
// it is.
//
// A policy without an owner is the source's if its status says that it was before:
// somebody has taken the labels off, or deleted it and made another.
func claim(live client.Object, o owner, inventory map[string]bool) string {
	if live.GetAnnotations()[v1alpha1.AnnotationAdopt] == o.String() {
		return ""
	}
	by, owned := namedBy(live.GetLabels())
	is := refTo(live)
	_, resource := is.kind.names()
	switch {
	case owned && by == o, !owned && inventory[live.GetName()]:
		return ""
	case owned:
		return fmt.Sprintf("%s belongs to PolicySource %s: remove it from one of the two repositories; or hand "+
			"it over, kubectl annotate %s %s %s=%s",
			is, by, resource, is.name, v1alpha1.AnnotationAdopt, o)
	default:
		return fmt.Sprintf("%s exists and comes from no source: delete it; or let this source take it over, "+
			"kubectl annotate %s %s %s=%s",
			is, resource, is.name, v1alpha1.AnnotationAdopt, o)
	}
}
