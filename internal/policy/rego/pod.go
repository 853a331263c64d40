// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy"
)

// podTerm is input.pod: the Pod itself, or the pod template of a workload as the
// Pod that its controller would make. It is nil for other kinds, and for a
// workload whose template isn't an object.
func podTerm(r *policy.Request, judged *ast.Term) *ast.Term {
	kind := r.Kind.GroupKind()
	if kind == policy.PodKind() {
		return judged
	}
	path, ok := policy.TemplatePath(kind)
	if !ok {
		return nil
	}
	template := judged
	for step := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if template = field(template, step); template == nil {
			return nil
		}
	}
	if _, isObject := template.Value.(ast.Object); !isObject {
		return nil
	}
	pairs := [][2]*ast.Term{
		pair("apiVersion", ast.StringTerm("v1")),
		pair("kind", ast.StringTerm("Pod")),
		pair("metadata", podMetadata(r, judged, field(template, "metadata"))),
	}
	if spec := field(template, "spec"); spec != nil {
		pairs = append(pairs, pair("spec", spec))
	}
	return ast.ObjectTerm(pairs...)
}

// podMetadata is the template's metadata, with the namespace, and with the
// workload's name where the template has none.
func podMetadata(r *policy.Request, judged, template *ast.Term) *ast.Term {
	var pairs [][2]*ast.Term
	if object := asObject(template); object != nil {
		object.Foreach(func(key, value *ast.Term) {
			if !key.Equal(ast.StringTerm("namespace")) {
				pairs = append(pairs, [2]*ast.Term{key, value})
			}
		})
	}
	if r.Namespace != "" {
		pairs = append(pairs, pair("namespace", ast.StringTerm(r.Namespace)))
	}
	if field(template, "name") == nil {
		if name := field(field(judged, "metadata"), "name"); name != nil {
			pairs = append(pairs, pair("name", name))
		}
	}
	return ast.ObjectTerm(pairs...)
}

func asObject(term *ast.Term) ast.Object {
	if term == nil {
		return nil
	}
	object, _ := term.Value.(ast.Object)
	return object
}

// field is nil when the term isn't an object or hasn't the key.
func field(term *ast.Term, key string) *ast.Term {
	object := asObject(term)
	if object == nil {
		return nil
	}
	return object.Get(ast.StringTerm(key))
}
