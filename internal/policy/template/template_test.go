// SPDX-License-Identifier: Apache-2.0

package template_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/policy/template"
)

const rule = "package p\n\nimport rego.v1\n\ndeny contains input.parameters.says if input.pod\n"

// templateOf is a template with a schema; empty for none.
func templateOf(schema string) *v1alpha1.RegoTemplate {
	t := &v1alpha1.RegoTemplate{ObjectMeta: metav1.ObjectMeta{Name: "t"},
		Spec: v1alpha1.RegoTemplateSpec{Rego: v1alpha1.RegoSource{File: "t.rego", Main: rule}}}
	if schema != "" {
		t.Spec.ParameterSchema = &v1alpha1.ParameterSchema{OpenAPIV3Schema: apiextensionsv1.JSON{Raw: []byte(schema)}}
	}
	return t
}

// policyOf is a policy that names it, with parameters; empty for none.
func policyOf(name, parameters string) *v1alpha1.ClusterRegoPolicy {
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RegoPolicySpec{
		TemplateRef: &v1alpha1.TemplateReference{Name: "t"},
		Match: v1alpha1.Match{
			Kinds: []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"Pod"}}}},
	}}
	if parameters != "" {
		p.Spec.Parameters = &apiextensionsv1.JSON{Raw: []byte(parameters)}
	}
	return p
}

func compiled(tb testing.TB, schema string) *template.Template {
	tb.Helper()
	t, err := template.Compile(templateOf(schema))
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func TestParametersAreHeldAgainstTheSchema(t *testing.T) {
	const schema = `{"type": "object", "required": ["says"], "properties": {
		"says": {"type": "string", "minLength": 2, "maxLength": 5},
		"level": {"type": "integer", "minimum": 1, "default": 3},
		"mode": {"type": "string", "enum": ["on", "off"]},
		"nested": {"type": "object", "properties": {"deep": {"type": "array", "maxItems": 1,
			"items": {"type": "object", "properties": {"n": {"type": "number", "default": 2}}}}}},
		"port": {"x-kubernetes-int-or-string": true},
		"set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
		"free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}`
	cases := map[string]struct {
		given string
		want  string // the parameters that the rule sees
		not   []string
	}{
		"what fits gets the defaults": {
			given: `{"says": "hi"}`, want: `{"level":3,"says":"hi"}`},
		"defaults reach into lists": {given: `{"says": "hi", "nested": {"deep": [{}]}}`,
			want: `{"level":3,"nested":{"deep":[{"n":2}]},"says":"hi"}`},
		"what is given isn't replaced by a default": {
			given: `{"says": "hi", "level": 5}`, want: `{"level":5,"says":"hi"}`},
		"a number stays as written": {
			given: `{"says": "hi", "nested": {"deep": [{"n": 1.50}]}}`,
			want:  `{"level":3,"nested":{"deep":[{"n":1.50}]},"says":"hi"}`},
		"an open object takes what it likes": {given: `{"says": "hi", "free": {"a": [1, {"b": null}]}}`,
			want: `{"free":{"a":[1,{"b":null}]},"level":3,"says":"hi"}`},
		"none at all lack what is required": {not: []string{"spec.parameters.says: Required value"}},
		"another type is told with the one that it is to be": {
			given: `{"says": 7}`, not: []string{
				`spec.parameters.says: Invalid value: "integer": says in body must be of type string: "integer"`}},
		"a value out of bounds is told": {
			given: `{"says": "hello there"}`, not: []string{"spec.parameters.says: Too long: may not be more than 5"}},
		"a value that isn't among them is told with them": {
			given: `{"says": "hi", "mode": "maybe"}`,
			not:   []string{`spec.parameters.mode: Unsupported value: "maybe": supported values: "on", "off"`}},
		"a misspelt field is no field": {
			given: `{"says": "hi", "levle": 1}`,
			not:   []string{"spec.parameters.levle: Forbidden: the schema has no such field"}},
		"a misspelt field deep within is no field": {given: `{"says": "hi", "nested": {"deep": [{"m": 1}]}}`,
			not: []string{"spec.parameters.nested.deep[0].m: Forbidden"}},
		"a duplicate in a set is told": {
			given: `{"says": "hi", "set": ["a", "a"]}`, not: []string{`spec.parameters.set[1]: Duplicate value: "a"`}},
		"what isn't an object doesn't fit": {
			given: `[1]`, not: []string{"spec.parameters: Invalid value"}},
		"each problem is told": {given: `{"says": "A", "level": 0}`, not: []string{
			"spec.parameters.level: Invalid value: 0", "spec.parameters.says: Invalid value"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			defined, err := compiled(t, schema).Define(policyOf("p", tc.given))
			if len(tc.not) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, string(defined.Spec.Parameters.Raw)); diff != "" {
					t.Errorf("parameters (-want +got):\n%s", diff)
				}
				return
			}
			var unfit *template.ParametersError
			if !errors.As(err, &unfit) || len(unfit.Problems) != len(tc.not) {
				t.Fatalf("problems %v, want %q", err, tc.not)
			}
			for _, want := range tc.not {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\ndoesn't say %q", err, want)
				}
			}
		})
	}
}

func TestATemplateIsRefusedForItsSchema(t *testing.T) {
	cases := map[string]struct{ schema, says string }{
		"that isn't of an object": {`{"type": "array", "items": {"type": "string"}}`, "set type: object"},
		"without a type":          {`{"properties": {"a": {"type": "string"}}}`, "set type: object"},
		"with an unknown keyword": {`{"type": "object", "propertys": {}}`, `unknown field "propertys"`},
		"with a property without a type": {`{"type": "object", "properties": {"a": {}}}`,
			"spec.parameterSchema.openAPIV3Schema.properties[a].type: Required value"},
		"with a default that doesn't fit": {`{"type": "object", "properties": {"a": {"type": "string", "default": 1}}}`,
			"spec.parameterSchema.openAPIV3Schema.properties[a].default: Invalid value"},
		"with a pattern": {
			`{"type": "object", "properties": {"a": {"type": "string", "pattern": "(.?){1000}"}}}`,
			"pattern can't be used: say it in the rule"},
		"with a pattern for a default": {
			`{"type": "object", "properties": {"a": {"type": "array", "default": ["a"], "items": {"type": "string", "pattern": "a"}}}}`, "pattern can't be used"},
		"with a pattern for any names": {
			`{"type": "object", "additionalProperties": {"type": "string", "pattern": "a"}}`, "pattern can't be used"},
		"with a pattern among others": {
			`{"type": "object", "properties": {"a": {"type": "string", "anyOf": [{"minLength": 3}, {"allOf": [{"pattern": "a"}]}]}}}`, "pattern can't be used"},
		"with a pattern that isn't to be": {
			`{"type": "object", "not": {"properties": {"a": {"pattern": "a"}}}, "properties": {"a": {"type": "string"}}}`, "pattern can't be used"},
		"with patterns of names": {`{"type": "object", "patternProperties": {"a": {"type": "string"}}}`,
			"'patternProperties' is not supported"},
		"with a reference": {`{"type": "object", "properties": {"a": {"$ref": "#/definitions/a"}}}`,
			"$ref"},
		"with expressions": {`{"type": "object", "x-kubernetes-validations": [{"rule": "true"}]}`,
			"x-kubernetes-validations can't be used"},
		"with expressions deep within": {
			`{"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string", "x-kubernetes-validations": [{"rule": "true"}]}}}}`, "x-kubernetes-validations can't be used"},
		"with an object of Kubernetes' own": {
			`{"type": "object", "properties": {"a": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}}}`,
			"x-kubernetes-embedded-resource can't be used"},
		"that is long": {`{"type": "object", "description": "` + strings.Repeat("a", 64<<10) + `"}`,
			"make it 65536 at most"},
		"that is text and no schema": {`"object"`, "isn't an OpenAPI v3 schema"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := template.Compile(templateOf(tc.schema))
			var unfit *template.SchemaError
			if !errors.As(err, &unfit) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error %v, want one of the schema that says %q", err, tc.says)
			}
		})
	}
}

func TestATemplateIsBoundedAsAPolicyIs(t *testing.T) {
	for name, source := range map[string]string{
		"a built-in that isn't let": "package p\n\nimport rego.v1\n\ndeny contains \"x\" if http.send({\"url\": " +
			"\"http://example.com\"}).status_code == 200\n",
		"more text than is let":       rule + "# " + strings.Repeat("x", 512<<10),
		"more rules than are let":     rule + strings.Repeat("a if false\n", 2100),
		"what doesn't parse":          "package p\n\ndeny contains \"x\" if {",
		"no rule that finds anything": "package p\n\nimport rego.v1\n\nother := 1\n",
	} {
		t.Run(name, func(t *testing.T) {
			of := templateOf("")
			of.Spec.Rego.Main = source
			inline := policyOf("p", "")
			inline.Spec.TemplateRef, inline.Spec.Rego = nil, of.Spec.Rego
			_, want := rego.Compile(inline)
			_, err := template.Compile(of)
			if want == nil || err == nil || err.Error() != want.Error() {
				t.Errorf("the template: %v\nthe policy: %v", err, want)
			}
		})
	}
}

// TestARevisionIsOfTheRuleNotOfWhereItStands holds a policy by a template against one that has
// the same rule and parameters itself: whoever moves the rule to a template starts no rollout.
func TestARevisionIsOfTheRuleNotOfWhereItStands(t *testing.T) {
	const schema = `{"type": "object", "properties": {"says": {"type": "string"}, "level": {"type": "integer", "default": 3}}}`
	inline := policyOf("p", `{"level": 3, "says": "hi"}`)
	inline.Spec.TemplateRef, inline.Spec.Rego = nil, templateOf("").Spec.Rego
	by, err := compiled(t, schema).Policy(policyOf("p", `{"says": "hi"}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := rego.Revision(inline); by.Revision() != want {
		t.Errorf("revision %s by the template, %s inline", by.Revision(), want)
	}
	other, err := compiled(
		t,
		`{"type": "object", "properties": {"says": {"type": "string"}, "level": {"type": "integer", "default": 4}}}`).
		Policy(policyOf("p", `{"says": "hi"}`))
	if err != nil || other.Revision() == by.Revision() {
		t.Errorf("another default gives revision %s again (%v)", by.Revision(), err)
	}
}

// TestTheWorkOfHoldingParametersAgainstASchemaIsBounded has an enumeration that fills the
// schema compared with each item of a list.
func TestTheWorkOfHoldingParametersAgainstASchemaIsBounded(t *testing.T) {
	list := func(n int, item string) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
	of := compiled(t, fmt.Sprintf(
		`{"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer", "enum": [%s,2]}}}}`,
		list(30_000, "1")))
	if _, err := of.Define(policyOf("p", `{"a": [`+list(400, "2")+`]}`)); err != nil {
		t.Error(err)
	}
	if _, err := of.Define(policyOf("p", `{"a": [`+list(1_000, "2")+`]}`)); err == nil ||
		!strings.Contains(err.Error(), "spec.parameters: Too long: may not be more than") {
		t.Errorf("parameters beyond the bound: %v", err)
	}
}
