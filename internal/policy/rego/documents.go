// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego/budget"
)

// documents are what the input holds for every policy.
type documents struct {
	// common are the fields that every policy's input has.
	common [][2]*ast.Term
	// review is input.review, and gatekeeper that of policies that were written for Gatekeeper.
	review, gatekeeper *ast.Term
}

// large reports whether the documents together are larger than topdown may compare without a guard.
func (d documents) large() bool {
	bytes := budget.Size(d.review.Value, budget.Large) + budget.Size(d.gatekeeper.Value, budget.Large)
	for _, part := range d.common {
		bytes += budget.Size(part[1].Value, budget.Large)
	}
	return bytes > budget.Large
}

func documentsOf(r *policy.Request) (d documents, err error) {
	object, oldObject, err := objectTerms(r)
	if err != nil {
		return d, err
	}
	judged := object
	if r.JudgesOld() {
		judged = oldObject
	}
	d.common = [][2]*ast.Term{pair("object", judged),
		pair("request", ast.ObjectTerm(requestPairs(r, object, oldObject)...))}
	if pod := podTerm(r, judged); pod != nil {
		d.common = append(d.common, pair("pod", pod))
	}
	if r.Operation == policy.Delete {
		object = oldObject // as Gatekeeper does, before its rules see a review
	}
	namespaceObject, err := namespaceTerm(r.NamespaceObject)
	if err != nil {
		return d, err
	}
	d.review = ast.ObjectTerm(append(requestPairs(r, object, oldObject), pair("namespaceObject", namespaceObject))...)
	d.gatekeeper, err = gatekeeperTerm(r, object, oldObject, namespaceObject)
	return d, err
}

func objectTerms(r *policy.Request) (object, oldObject *ast.Term, err error) {
	if object, err = treeTerm(r.Object); err != nil {
		return nil, nil, fmt.Errorf("the object can't be read: %w", err)
	}
	if oldObject, err = treeTerm(r.OldObject); err != nil {
		return nil, nil, fmt.Errorf("the old object can't be read: %w", err)
	}
	return object, oldObject, nil
}

// namespaceTerm is an empty object for a cluster-scoped object or an unknown
// namespace, so that a rule may look into it without a guard.
func namespaceTerm(object map[string]any) (*ast.Term, error) {
	if object == nil {
		return ast.ObjectTerm(), nil
	}
	term, err := treeTerm(object)
	if err != nil {
		return nil, fmt.Errorf("the namespace object can't be read: %w", err)
	}
	return term, nil
}

func treeTerm(tree map[string]any) (*ast.Term, error) {
	if tree == nil {
		return ast.NullTerm(), nil
	}
	value, err := ast.InterfaceToValue(tree)
	if err != nil {
		return nil, fmt.Errorf("it isn't a JSON value: %w", err)
	}
	return ast.NewTerm(value), nil
}

// requestPairs is the AdmissionRequest of admission.k8s.io/v1, with the same
// spelling and the same absent keys.
func requestPairs(r *policy.Request, object, oldObject *ast.Term) [][2]*ast.Term {
	return append(commonPairs(r, object, oldObject),
		pair("resource", resourceTerm(resourceOf(r))),
		pair("userInfo", userTerm(r.UserInfo)),
		pair("dryRun", ast.BooleanTerm(r.DryRun)))
}

func commonPairs(r *policy.Request, object, oldObject *ast.Term) [][2]*ast.Term {
	return append(textPairs([2]string{"subResource", r.SubResource}, [2]string{"name", r.Name},
		[2]string{"namespace", r.Namespace}),
		pair("uid", ast.StringTerm(r.UID)),
		pair("operation", ast.StringTerm(string(r.Operation))),
		pair("kind", kindTerm(r.Kind)),
		pair("object", object),
		pair("oldObject", oldObject))
}

func textPairs(of ...[2]string) (pairs [][2]*ast.Term) {
	for _, t := range of {
		if t[1] != "" {
			pairs = append(pairs, pair(t[0], ast.StringTerm(t[1])))
		}
	}
	return pairs
}

func kindTerm(k policy.GroupVersionKind) *ast.Term {
	return ast.ObjectTerm(
		pair("group", ast.StringTerm(k.Group)),
		pair("version", ast.StringTerm(k.Version)),
		pair("kind", ast.StringTerm(k.Kind)))
}

func resourceOf(r *policy.Request) policy.GroupVersionResource {
	of := policy.GroupVersionResource{Group: r.Kind.Group, Version: r.Kind.Version, Resource: r.Resource}
	if s, ok := policy.SubresourceOf(r); ok {
		of.Group, of.Version = s.Parent.Group, "v1"
	}
	return of
}

func resourceTerm(r policy.GroupVersionResource) *ast.Term {
	return ast.ObjectTerm(
		pair("group", ast.StringTerm(r.Group)),
		pair("version", ast.StringTerm(r.Version)),
		pair("resource", ast.StringTerm(r.Resource)))
}

func userTerm(u policy.UserInfo) *ast.Term {
	return ast.ObjectTerm(
		pair("username", ast.StringTerm(u.Username)),
		pair("uid", ast.StringTerm(u.UID)),
		pair("groups", textsTerm(u.Groups)))
}

func textsTerm(texts []string) *ast.Term {
	terms := make([]*ast.Term, len(texts))
	for i, text := range texts {
		terms[i] = ast.StringTerm(text)
	}
	return ast.ArrayTerm(terms...)
}

func pair(key string, value *ast.Term) [2]*ast.Term {
	return [2]*ast.Term{ast.StringTerm(key), value}
}
