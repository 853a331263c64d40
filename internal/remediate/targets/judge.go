// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

// Lookups is what is known of the objects that rules look up.
type Lookups interface {
	// LooksUp says whether a policy's rules look other objects up.
	LooksUp(name string) bool
	// Referring are the policies whose rules look objects of some kinds up, by name.
	Referring(kinds ...schema.GroupKind) []string
	// Shows says with an error that what a policy looks up may be older than some objects as they were read.
	Shows(name string, objects ...*unstructured.Unstructured) error
	// Selects says whether all references of a policy to an object's kind select it, so that each of its changes shows.
	Selects(name string, object *unstructured.Unstructured) bool
	Known
}

// Known says what the rules of a policy find, and whether they can look anything up.
type Known interface {
	// Holds says whether a policy's rules find an object by its kind, namespace and name. The error is that it isn't
	// known.
	Holds(name string, object v1alpha1.ObjectReference) (bool, error)
	// Knows says with an error which of all that a policy looks up isn't known: while it isn't, it judges no object.
	Knows(name string) error
}

// Verdicts is what the proof of a fix asks of the policies in force.
type Verdicts interface {
	// Definition is a policy, or nil; shared.
	Definition(name string) *v1alpha1.ClusterRegoPolicy
	// Revision is the one of a policy that judges.
	Revision(name string) (string, bool)
	Lookups
	// EvaluateOne asks one policy; it isn't matched when it doesn't concern the object.
	EvaluateOne(ctx context.Context, name string, r *policy.Request) (catalog.Result, bool)
	// Evaluate asks every policy that concerns the object.
	Evaluate(ctx context.Context, r *policy.Request) []catalog.Result
}

// Audit asks for a verdict on an object, or on what it would be after a fix.
// namespace is the one that the object lives in, or nil.
func (t *Client) Audit(object map[string]any, namespace *unstructured.Unstructured) *policy.Request {
	var ns map[string]any
	if namespace != nil {
		ns = namespace.Object
	}
	r := policy.NewAudit(object, ns, t.Clock.Now())
	gk := schema.GroupKind{Group: r.Kind.Group, Kind: r.Kind.Kind}
	if mapping, err := t.Mapper.RESTMapping(gk, r.Kind.Version); err == nil {
		r.Resource = mapping.Resource.Resource
	}
	return r
}

// Judge asks one policy about an object as it was read, with its namespace as that is now, or as if the cluster were
// another one, by what changes the request. It isn't matched when the policy doesn't concern the object; the error is
// that the namespace couldn't be read.
func (t *Client) Judge(ctx context.Context, by Verdicts, policyName string, obj *unstructured.Unstructured,
	changes ...func(*policy.Request)) (result catalog.Result, matched bool, err error) {
	namespace, err := t.NamespaceOf(ctx, obj)
	if err != nil {
		return catalog.Result{}, false, err
	}
	request := t.Audit(obj.Object, namespace)
	for _, change := range changes {
		change(request)
	}
	result, matched = by.EvaluateOne(ctx, policyName, request)
	return result, matched, nil
}
