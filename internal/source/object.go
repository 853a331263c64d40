// SPDX-License-Identifier: Apache-2.0

package source

import (
	"path"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/directory"
)

// kind is a kind of object that sources hold.
type kind string

const (
	policyKind   kind = "ClusterRegoPolicy"
	strategyKind kind = "RemediationStrategy"
)

// names are what people call the kind, and kubectl.
func (k kind) names() (noun, resource string) {
	if k == strategyKind {
		return "strategy", "remstrategy"
	}
	return "policy", "rego"
}

// ref is an object of a source in the cluster.
type ref struct {
	kind kind
	name string
}

func (r ref) String() string {
	noun, _ := r.kind.names()
	return noun + " " + r.name
}

// object is a policy or strategy as a repository has it.
type object struct {
	ref

	// dir is its directory, and file the file to correct.
	dir, file string
	// spec is a pointer to its spec.
	spec any
}

func objectsOf(policies []directory.Located, strategies []directory.Strategy) (held, shared []object) {
	for _, p := range policies {
		held = append(held, object{ref: ref{policyKind, p.Definition.Name}, dir: p.Dir,
			file: path.Join(p.Dir, path.Base(p.Definition.Spec.Rego.File)), spec: &p.Definition.Spec})
	}
	for _, s := range strategies {
		shared = append(shared, object{ref: ref{strategyKind, s.Definition.Name}, dir: path.Dir(s.File), file: s.File,
			spec: &s.Definition.Spec})
	}
	return held, shared
}

// refTo names an object of the cluster.
func refTo(live client.Object) ref {
	if _, is := live.(*v1alpha1.RemediationStrategy); is {
		return ref{strategyKind, live.GetName()}
	}
	return ref{policyKind, live.GetName()}
}

// empty is an object of the kind to read into.
func (k kind) empty() client.Object {
	if k == strategyKind {
		return &v1alpha1.RemediationStrategy{}
	}
	return &v1alpha1.ClusterRegoPolicy{}
}

// specOf is a pointer to the spec of an object of the cluster.
func specOf(live client.Object) any {
	switch o := live.(type) {
	case *v1alpha1.RemediationStrategy:
		return &o.Spec
	case *v1alpha1.ClusterRegoPolicy:
		return &o.Spec
	}
	return nil
}

// pointers are the items of a list as objects.
func pointers[T any, P interface {
	*T
	client.Object
}](items []T) []client.Object {
	out := make([]client.Object, len(items))
	for i := range items {
		out[i] = P(&items[i])
	}
	return out
}

func namesOf(refs []ref) []string {
	names := make([]string, len(refs))
	for i, r := range refs {
		names[i] = r.name
		if r.kind != policyKind {
			names[i] = r.String()
		}
	}
	return names
}
