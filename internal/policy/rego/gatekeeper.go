// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"fmt"
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"

	"evenkeel.dev/evenkeel/internal/policy"
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

// gatekeeperTerm is the request as Gatekeeper writes it into input.review: absent is what the JSON of an
// AdmissionRequest leaves out, the options are null and the Namespace is empty where there are none.
func gatekeeperTerm(r *policy.Request, object, oldObject, namespaceObject *ast.Term) (*ast.Term, error) {
	r = shownByGatekeeper(r)
	options, err := treeTerm(r.Options)
	if err != nil {
		return nil, fmt.Errorf("options can't be read: %w", err)
	}
	if r.NamespaceObject == nil {
		namespaceObject = ast.ObjectTerm()
	}
	resource := resourceOf(r)
	if r.Audit {
		resource = policy.GroupVersionResource{}
	}
	pairs := append(commonPairs(r, object, oldObject),
		pair("resource", resourceTerm(resource)),
		pair("userInfo", gatekeeperUser(r.UserInfo)),
		pair("options", options),
		pair("namespaceObject", namespaceObject))
	if !r.Audit {
		pairs = append(pairs, pair("dryRun", ast.BooleanTerm(r.DryRun)))
	}
	if r.RequestKind != nil {
		pairs = append(pairs, pair("requestKind", kindTerm(*r.RequestKind)))
	}
	if r.RequestResource != nil {
		pairs = append(pairs, pair("requestResource", resourceTerm(*r.RequestResource)))
	}
	return ast.ObjectTerm(append(pairs, textPairs([2]string{"requestSubResource", r.RequestSubResource})...)...), nil
}

// gatekeeperUser lacks what is empty.
func gatekeeperUser(u policy.UserInfo) *ast.Term {
	pairs := textPairs([2]string{"username", u.Username}, [2]string{"uid", u.UID})
	if len(u.Groups) > 0 {
		pairs = append(pairs, pair("groups", textsTerm(u.Groups)))
	}
	if len(u.Extra) > 0 {
		extra := make([][2]*ast.Term, 0, len(u.Extra))
		for _, key := range slices.Sorted(maps.Keys(u.Extra)) {
			extra = append(extra, pair(key, textsTerm(u.Extra[key])))
		}
		pairs = append(pairs, pair("extra", ast.ObjectTerm(extra...)))
	}
	return ast.ObjectTerm(pairs...)
}
