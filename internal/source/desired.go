// SPDX-License-Identifier: Apache-2.0

package source

import (
	"encoding/json"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/directory"
)

// owner is a PolicySource, as its policies name it.
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

// inStep says whether a policy in the cluster is what the repository says, and is
// marked as the source's. Labels and annotations of others don't count.
func inStep(live *v1alpha1.ClusterRegoPolicy, want directory.Located, o owner) (bool, error) {
	by, _ := namedBy(live.Labels)
	if by != o || live.Annotations[v1alpha1.AnnotationSourcePath] != want.Dir ||
		live.Annotations[v1alpha1.AnnotationSourceRevision] == "" {
		return false, nil
	}
	return sameSpec(&live.Spec, &want.Definition.Spec)
}

// sameSpec compares what was authored, so that a default which somebody has written into
// the cluster is taken out again; an absent list and an empty one, or parameters in
// another layout, are the same.
func sameSpec(a, b *v1alpha1.RegoPolicySpec) (bool, error) {
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
func authored(spec *v1alpha1.RegoPolicySpec) (map[string]any, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode a policy: %w", err)
	}
	var values map[string]any
	if err := json.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("decode a policy: %w", err)
	}
	return values, nil
}

func manifest(want directory.Located, o owner, revision string) (*unstructured.Unstructured, error) {
	spec, err := authored(&want.Definition.Spec)
	if err != nil {
		return nil, fmt.Errorf("policy %s: %w", want.Definition.Name, err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ClusterRegoPolicy"))
	object.SetName(want.Definition.Name)
	object.SetLabels(o.labels())
	object.SetAnnotations(
		map[string]string{v1alpha1.AnnotationSourcePath: want.Dir, v1alpha1.AnnotationSourceRevision: revision})
	return object, nil
}

// claim says why a policy in the cluster isn't the source's to write; empty when
// it is.
//
// A policy without an owner is the source's if its status says that it was before:
// somebody has taken the labels off, or deleted it and made another.
func claim(live metav1.Object, o owner, inventory map[string]bool) string {
	if live.GetAnnotations()[v1alpha1.AnnotationAdopt] == o.String() {
		return ""
	}
	by, owned := namedBy(live.GetLabels())
	switch {
	case owned && by == o, !owned && inventory[live.GetName()]:
		return ""
	case owned:
		return fmt.Sprintf("policy %s belongs to PolicySource %s: remove it from one of the two repositories; or hand "+
			"it over, kubectl annotate rego %s %s=%s",
			live.GetName(), by, live.GetName(), v1alpha1.AnnotationAdopt, o)
	default:
		return fmt.Sprintf("policy %s exists and comes from no source: delete it; or let this source take it over, "+
			"kubectl annotate rego %s %s=%s",
			live.GetName(), live.GetName(), v1alpha1.AnnotationAdopt, o)
	}
}
