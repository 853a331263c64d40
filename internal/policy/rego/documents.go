// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego/facts"
)

// sharedTerms are what policies share of the input.
type sharedTerms struct {
	// common are of the input of all.
	common [][2]*ast.Term
	// review is input.review, and gatekeeper that of policies written for Gatekeeper; nil where none reads it.
	review, gatekeeper *ast.Term
}

// fields are those of the input of one policy, with room for its parameters.
func (s *sharedTerms) fields(gatekeeper bool) [][2]*ast.Term {
	if s == nil {
		return nil
	}
	review := s.review
	if gatekeeper {
		review = s.gatekeeper
	}
	fields := append(make([][2]*ast.Term, 0, len(s.common)+2), s.common...)
	if review != nil {
		fields = append(fields, pair("review", review))
	}
	return fields
}

// sharedDocuments are what a request has for every policy.
func sharedDocuments(r *policy.Request, read Read) (*sharedTerms, error) {
	object, oldObject, err := objectTerms(r, read.Object)
	if err != nil {
		return nil, err
	}
	judgedTerm := object
	if r.JudgesOld() {
		judgedTerm = oldObject
	}
	out := &sharedTerms{common: [][2]*ast.Term{pair("object", judgedTerm)}}
	if read.Request != nil {
		request := ast.ObjectTerm(requestPairs(r, read.Request, object, oldObject)...)
		out.common = append(out.common, pair("request", request))
	}
	if read.Pod {
		if pod := podTerm(r, judgedTerm); pod != nil {
			out.common = append(out.common, pair("pod", pod))
		}
	}
	if r.Operation == policy.Delete {
		object = oldObject // as Gatekeeper does, before its rules see a review
	}
	return out, out.addReviews(r, read, object, oldObject)
}

// addReviews adds the request as rules of either sort have it, as far as they read it.
func (s *sharedTerms) addReviews(r *policy.Request, read Read, object, oldObject *ast.Term) error {
	if read.Review != nil {
		review := requestPairs(r, read.Review, object, oldObject)
		if read.Review.Of("namespaceObject") != nil {
			namespaceObject, err := namespaceTerm(r.NamespaceObject)
			if err != nil {
				return err
			}
			review = append(review, pair("namespaceObject", namespaceObject))
		}
		s.review = ast.ObjectTerm(review...)
	}
	if read.Gatekeeper != nil {
		review, err := gatekeeperPairs(r, read.Gatekeeper, object, oldObject)
		if err != nil {
			return err
		}
		s.gatekeeper = ast.ObjectTerm(review...)
	}
	return nil
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
func namespaceTerm(object map[string]any) (*ast.Term, error) {
	if object == nil {
		return ast.ObjectTerm(), nil
	}
	term, err := treeTerm(object, facts.All())
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
func requestPairs(r *policy.Request, read *facts.Fields, object, oldObject *ast.Term) [][2]*ast.Term {
	out := commonFields(r, read, object, oldObject)
	out.add("resource", func() *ast.Term { return resourceTerm(resourceOf(r)) })
	out.add("userInfo", func() *ast.Term { return userTerm(r.UserInfo) })
	out.add("dryRun", func() *ast.Term { return ast.BooleanTerm(r.DryRun) })
	return out.pairs
}

// fieldsRead are the fields of a document as far as they are read.
type fieldsRead struct {
	read  *facts.Fields
	pairs [][2]*ast.Term
}

func (f *fieldsRead) add(key string, value func() *ast.Term) {
	if f.read.Of(key) != nil {
		f.pairs = append(f.pairs, pair(key, value()))
	}
}

func (f *fieldsRead) text(key, value string) {
	f.add(key, func() *ast.Term { return ast.StringTerm(value) })
}

// texts adds those that aren't empty.
func (f *fieldsRead) texts(of ...[2]string) {
	for _, t := range of {
		if t[1] != "" {
			f.text(t[0], t[1])
		}
	}
}

// commonFields are those that a request has in every form.
func commonFields(r *policy.Request, read *facts.Fields, object, oldObject *ast.Term) *fieldsRead {
	out := &fieldsRead{read: read}
	out.text("uid", r.UID)
	out.text("operation", string(r.Operation))
	out.add("kind", func() *ast.Term { return kindTerm(r.Kind) })
	out.add("object", func() *ast.Term { return object })
	out.add("oldObject", func() *ast.Term { return oldObject })
	out.texts([2]string{"subResource", r.SubResource}, [2]string{"name", r.Name},
		[2]string{"namespace", r.Namespace})
	return out
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
