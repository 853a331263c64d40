// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"fmt"
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego/facts"
)

// Gatekeepers says that the policy was written for Gatekeeper, whose rules judge as they do there: what violation gives
// is read as Gatekeeper reads it, and input.review is Gatekeeper's. The migration marks them, and what a built-in
// function that fails leads to is marked by the same field.
func (c *Compiled) Gatekeepers() bool { return !c.definition.Spec.Rego.Strict() }

// TakenByGatekeeper says that Gatekeeper's compiler takes the rule violation: by the type of its elements, one of them
// may be an object with a msg. Of another rule Gatekeeper's ConstraintTemplate doesn't compile.
func (c *Compiled) TakenByGatekeeper() bool { return c.taken }

// takenByGatekeeper tells that by the type of the rule, of which Gatekeeper asks rule[r], and then r.msg.
func takenByGatekeeper(rule types.Type) bool { return rule != nil && hasMessage(types.Keys(rule)) }

func hasMessage(element types.Type) bool {
	switch t := element.(type) {
	case *types.NamedType:
		return hasMessage(t.Type)
	case types.Any:
		return len(t) == 0 || slices.ContainsFunc(t, hasMessage)
	case nil, *types.Set, *types.Array:
		return false
	default:
		return types.Select(t, "msg") != nil
	}
}

// shownByGatekeeper is what Gatekeeper makes a review of. In its audit that is the object that is audited, with no
// operation and by nobody (gatekeeper, pkg/target/target.go, unstructuredToAdmissionRequest), and a Namespace lives in
// none (pkg/webhook/policy.go, createReviewForRequest).
func shownByGatekeeper(r *policy.Request) *policy.Request {
	shown := *r
	if r.Audit {
		shown = policy.Request{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, NamespaceObject: r.NamespaceObject,
			Audit: true}
	}
	if r.Kind.GroupKind() == policy.NamespaceKind() {
		shown.Namespace, shown.NamespaceObject = "", nil
	}
	return &shown
}

// gatekeeperPairs is the request as Gatekeeper writes it into input.review, as far as it is read: absent is what the
// JSON of an AdmissionRequest leaves out.
func gatekeeperPairs(r *policy.Request, read *facts.Fields, object, oldObject *ast.Term) ([][2]*ast.Term, error) {
	r = shownByGatekeeper(r)
	out := commonFields(r, read, object, oldObject)
	out.add("resource", func() *ast.Term {
		if r.Audit {
			return resourceTerm(policy.GroupVersionResource{})
		}
		return resourceTerm(resourceOf(r))
	})
	out.add("userInfo", func() *ast.Term { return gatekeeperUser(r.UserInfo) })
	if !r.Audit {
		out.add("dryRun", func() *ast.Term { return ast.BooleanTerm(r.DryRun) })
	}
	if r.RequestKind != nil {
		out.add("requestKind", func() *ast.Term { return kindTerm(*r.RequestKind) })
	}
	if r.RequestResource != nil {
		out.add("requestResource", func() *ast.Term { return resourceTerm(*r.RequestResource) })
	}
	out.texts([2]string{"requestSubResource", r.RequestSubResource})
	return out.pairs, out.trees(r)
}

// trees adds what is converted: the options, null where there are none, and the Namespace, empty where there is none.
func (f *fieldsRead) trees(r *policy.Request) error {
	for _, tree := range []struct {
		key     string
		convert func() (*ast.Term, error)
	}{
		{"options", func() (*ast.Term, error) { return treeTerm(r.Options, facts.All()) }},
		{"namespaceObject", func() (*ast.Term, error) { return namespaceTerm(r.NamespaceObject) }},
	} {
		if f.read.Of(tree.key) == nil {
			continue
		}
		term, err := tree.convert()
		if err != nil {
			return fmt.Errorf("%s can't be read: %w", tree.key, err)
		}
		f.pairs = append(f.pairs, pair(tree.key, term))
	}
	return nil
}

// gatekeeperUser lacks what is empty.
func gatekeeperUser(u policy.UserInfo) *ast.Term {
	out := &fieldsRead{read: facts.All()}
	out.texts([2]string{"username", u.Username}, [2]string{"uid", u.UID})
	if len(u.Groups) > 0 {
		out.add("groups", func() *ast.Term { return textsTerm(u.Groups) })
	}
	if len(u.Extra) > 0 {
		extra := make([][2]*ast.Term, 0, len(u.Extra))
		for _, key := range slices.Sorted(maps.Keys(u.Extra)) {
			extra = append(extra, pair(key, textsTerm(u.Extra[key])))
		}
		out.add("extra", func() *ast.Term { return ast.ObjectTerm(extra...) })
	}
	return ast.ObjectTerm(out.pairs...)
}
