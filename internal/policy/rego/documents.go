// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego/facts"
)

// sharedDocuments are what a request has for every policy.
func sharedDocuments(r *policy.Request, read Read) ([][2]*ast.Term, error) {
	object, oldObject, err := objectTerms(r, read.Object)
	if err != nil {
		return nil, err
	}
	judgedTerm := object
	if r.JudgesOld() {
		judgedTerm = oldObject
	}
	documents, err := requestDocuments(r, read, object, oldObject)
	if err != nil {
		return nil, err
	}
	documents = append([][2]*ast.Term{pair("object", judgedTerm)}, documents...)
	if read.Pod {
		if pod := podTerm(r, judgedTerm); pod != nil {
			documents = append(documents, pair("pod", pod))
		}
	}
	return documents, nil
}

// requestDocuments are the request as admission has it and as Gatekeeper has it, as far as they are read.
func requestDocuments(r *policy.Request, read Read, object, oldObject *ast.Term) ([][2]*ast.Term, error) {
	var out [][2]*ast.Term
	if read.Request != nil {
		out = append(out, pair("request", ast.ObjectTerm(requestPairs(r, read.Request, object, oldObject)...)))
	}
	if read.Review != nil {
		if r.Operation == policy.Delete {
			object = oldObject // as Gatekeeper does, before its rules see a review
		}
		review := requestPairs(r, read.Review, object, oldObject)
		if read.Review.Of("namespaceObject") != nil {
			namespaceObject, err := namespaceTerm(r)
			if err != nil {
				return nil, err
			}
			review = append(review, pair("namespaceObject", namespaceObject))
		}
		out = append(out, pair("review", ast.ObjectTerm(review...)))
	}
	return out, nil
}

func objectTerms(r *policy.Request, read *facts.Fields) (object, oldObject *ast.Term, err error) {
	if object, err = treeTerm(r.Object, read); err != nil {
		return nil, nil, fmt.Errorf("the object can't be read: %w", err)
	}
	if oldObject, err = treeTerm(r.OldObject, read); err != nil {
		return nil, nil, fmt.Errorf("the old object can't be read: %w", err)
	}
	return object, oldObject, nil
}

// namespaceTerm is an empty object for a cluster-scoped object or an unknown
// namespace, so that a rule may look into it without a guard.
func namespaceTerm(r *policy.Request) (*ast.Term, error) {
	if r.NamespaceObject == nil {
		return ast.ObjectTerm(), nil
	}
	term, err := treeTerm(r.NamespaceObject, facts.All())
	if err != nil {
		return nil, fmt.Errorf("the namespace object can't be read: %w", err)
	}
	return term, nil
}

func treeTerm(tree map[string]any, read *facts.Fields) (*ast.Term, error) {
	if tree == nil {
		return ast.NullTerm(), nil
	}
	value, err := read.Value(tree)
	if err != nil {
		return nil, err
	}
	return ast.NewTerm(value), nil
}

// requestPairs is the AdmissionRequest of admission.k8s.io/v1, with the same
// spelling and the same absent keys, as far as it is read.
func requestPairs(r *policy.Request, read *facts.Fields, object, oldObject *ast.Term) (pairs [][2]*ast.Term) {
	add := func(key string, value func() *ast.Term) {
		if read.Of(key) != nil {
			pairs = append(pairs, pair(key, value()))
		}
	}
	text := func(value string) func() *ast.Term { return func() *ast.Term { return ast.StringTerm(value) } }
	add("uid", text(r.UID))
	add("operation", text(string(r.Operation)))
	add("kind", func() *ast.Term {
		return ast.ObjectTerm(
			pair("group", ast.StringTerm(r.Kind.Group)),
			pair("version", ast.StringTerm(r.Kind.Version)),
			pair("kind", ast.StringTerm(r.Kind.Kind)))
	})
	add("resource", func() *ast.Term { return resourceTerm(r) })
	add("userInfo", func() *ast.Term { return userTerm(r.UserInfo) })
	add("object", func() *ast.Term { return object })
	add("oldObject", func() *ast.Term { return oldObject })
	add("dryRun", func() *ast.Term { return ast.BooleanTerm(r.DryRun) })
	for key, value := range map[string]string{"subResource": r.SubResource, "name": r.Name, "namespace": r.Namespace} {
		if value != "" {
			add(key, text(value))
		}
	}
	return pairs
}

func resourceTerm(r *policy.Request) *ast.Term {
	group, version := r.Kind.Group, r.Kind.Version
	if s, ok := policy.SubresourceOf(r); ok {
		group, version = s.Parent.Group, "v1"
	}
	return ast.ObjectTerm(
		pair("group", ast.StringTerm(group)),
		pair("version", ast.StringTerm(version)),
		pair("resource", ast.StringTerm(r.Resource)))
}

func userTerm(u policy.UserInfo) *ast.Term {
	groups := make([]*ast.Term, len(u.Groups))
	for i, group := range u.Groups {
		groups[i] = ast.StringTerm(group)
	}
	return ast.ObjectTerm(
		pair("username", ast.StringTerm(u.Username)),
		pair("uid", ast.StringTerm(u.UID)),
		pair("groups", ast.ArrayTerm(groups...)))
}

func pair(key string, value *ast.Term) [2]*ast.Term {
	return [2]*ast.Term{ast.StringTerm(key), value}
}
