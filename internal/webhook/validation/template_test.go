// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/policy/template"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

// newTemplate is a template with a schema.
func newTemplate(source, schema string) *v1alpha1.RegoTemplate {
	return &v1alpha1.RegoTemplate{ObjectMeta: metav1.ObjectMeta{Name: "t"}, Spec: v1alpha1.RegoTemplateSpec{
		Rego: v1alpha1.RegoSource{
			File: "t.rego", Main: source,
			Libraries: []v1alpha1.RegoLibrary{{Name: "lib.rego", Source: "package lib\n\nx := 1\n"}}},
		ParameterSchema: &v1alpha1.ParameterSchema{OpenAPIV3Schema: apiextensionsv1.JSON{Raw: []byte(schema)}}}}
}

// byTemplate is a policy that names it, with parameters.
func byTemplate(name, parameters string) *v1alpha1.ClusterRegoPolicy {
	p := webhooktest.NewPolicy(name, "")
	p.Spec.Rego, p.Spec.TemplateRef = v1alpha1.RegoSource{}, &v1alpha1.TemplateReference{Name: "t"}
	p.Spec.Parameters = &apiextensionsv1.JSON{Raw: []byte(parameters)}
	return p
}

func treeOf(t *testing.T, object any) tree {
	t.Helper()
	out := tree{}
	if err := json.Unmarshal(webhooktest.Encode(t, object), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func newTemplateHandler(t *testing.T, users ...*v1alpha1.ClusterRegoPolicy) *TemplateHandler {
	t.Helper()
	return &TemplateHandler{Base: webhooktest.Base(t, time.Unix(0, 0)),
		Naming: func(string) []*v1alpha1.ClusterRegoPolicy { return users }}
}

const anyText = `{"type": "object", "properties": {"key": {"type": "string"}}}`

func TestTemplateHandler(t *testing.T) {
	const good = "package t\n\nimport rego.v1\n\ndeny contains input.parameters.key if input.pod\n"
	var many []*v1alpha1.ClusterRegoPolicy
	for i := range 30 {
		many = append(many, byTemplate(fmt.Sprintf("p%02d", i), `{"key": "a"}`))
	}
	asTemplate := webhooktest.OfKind("RegoTemplate", "regotemplates")
	cases := map[string]struct {
		reason   string
		template *v1alpha1.RegoTemplate
		old      *v1alpha1.RegoTemplate
		users    []*v1alpha1.ClusterRegoPolicy
		want     []string // what the refusal says; none when it is let through
		not      string
	}{
		"a good template is let through": {template: newTemplate(good, anyText)},
		"what doesn't parse is told by file and row": {
			template: newTemplate("package t\n\ndeny contains 1 if {", anyText), want: []string{"t.rego:3:"}},
		"a schema that can't be is told by its field": {
			template: newTemplate(good, `{"type": "object", "properties": {"a": {}}}`),
			want:     []string{"spec.parameterSchema.openAPIV3Schema.properties[a].type: Required value"}},
		"parameters that fit are no matter": {template: newTemplate(good, anyText), users: many[:2]},
		"policies whose parameters fit no more are named": {
			template: newTemplate(good, anyText),
			users: []*v1alpha1.ClusterRegoPolicy{
				byTemplate("fits", `{}`), byTemplate("unfit", `{"key": 1, "kye": 2}`)},
			want: []string{"parameters of policies that use it would fit no more",
				"policy unfit: spec.parameters.key: Invalid value", "(and 1 more)"}, not: "policy fits"},
		"so many that a message can't hold them are counted": {
			template: newTemplate(good,
				`{"type": "object", "required": ["other"], "properties": {"key": {"type": "string"}, "other": {"type": "string"}}}`), users: many,
			want: []string{"policy p00: spec.parameters.other: Required value", "policy p18", "and 11 more"},
			not:  "policy p19"},
		"policies whose rule compiles no more are named": {
			template: newTemplate("package t\n\ndeny contains 1 if {", anyText), users: many,
			want: []string{"t.rego:3:", "policies have their rule from it: p00, p01,", "p09, and 20 more"}, not: "p10"},
		"an update that keeps the spec is let through": {reason: "a finalizer must come off what compiles no more",
			template: newTemplate("no rego", anyText), old: newTemplate("no rego", anyText), users: many},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			review := webhooktest.Review("CREATE", treeOf(t, tc.template), nil, asTemplate)
			if tc.old != nil {
				review = webhooktest.Review("UPDATE", treeOf(t, tc.template), treeOf(t, tc.old), asTemplate)
			}
			review["request"].(tree)["object"] = withWho(t, review)
			got := webhooktest.Ask(t, newTemplateHandler(t, tc.users...), review)
			if got.Allowed != (len(tc.want) == 0) {
				t.Fatalf("%s: allowed is %t: %v", tc.reason, got.Allowed, got.Status)
			}
			for _, want := range tc.want {
				if !strings.Contains(got.Status.Message, want) {
					t.Errorf("the refusal doesn't say %q:\n%s", want, got.Status.Message)
				}
			}
			if tc.not != "" && strings.Contains(got.Status.Message, tc.not) {
				t.Errorf("the refusal says %q:\n%s", tc.not, got.Status.Message)
			}
		})
	}
	t.Run("one that doesn't say who writes it is refused", func(t *testing.T) {
		got := webhooktest.Ask(t, newTemplateHandler(t),
			webhooktest.Review("CREATE", treeOf(t, newTemplate(good, anyText)), nil, asTemplate))
		if got.Allowed || got.Status.Code != http.StatusForbidden {
			t.Errorf("allowed is %t: %v", got.Allowed, got.Status)
		}
	})
}

// TestTemplatesAreCompiledInTheTurnsOfPolicies holds the one turn that there is, while a
// template is written, and lets the time run out among the policies that use one.
func TestTemplatesAreCompiledInTheTurnsOfPolicies(t *testing.T) {
	h := newTemplateHandler(t, byTemplate("p", `{}`))
	h.Turns = rego.NewLane(1)
	end, err := h.Turns.Turn(t.Context(), "flood")
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := compileTurn(over, h.Turns, &policy.Request{UserInfo: policy.UserInfo{Username: "other"}}); err == nil {
		t.Error("a template is compiled while somebody else has the only turn")
	}
	end()
	if found, err := h.check(over, newTemplate(webhooktest.PrivilegedRego, anyText)); err == nil {
		t.Errorf("time is over, and the answer is %v", found)
	}
}

func TestAPolicyIsHeldAgainstItsTemplate(t *testing.T) {
	compiled, err := template.Compile(newTemplate(webhooktest.PrivilegedRego, anyText))
	if err != nil {
		t.Fatal(err)
	}
	checker := func(from func() (*template.Template, error)) *PolicyChecker {
		return &PolicyChecker{Kinds: webhooktest.Kinds(), Compile: func(p *v1alpha1.ClusterRegoPolicy) error {
			by, err := from()
			if err == nil {
				_, err = by.Policy(p)
			}
			return err
		}}
	}
	there := checker(func() (*template.Template, error) { return compiled, nil })
	missing := checker(func() (*template.Template, error) { return nil, template.NotFound("t") })
	failed := checker(func() (*template.Template, error) {
		return nil, template.Failed("t", fmt.Errorf("t.rego:1:1: no"))
	})
	cases := map[string]struct {
		checker *PolicyChecker
		policy  *v1alpha1.ClusterRegoPolicy
		want    string
		warned  bool
	}{
		"what fits has no problem": {checker: there, policy: byTemplate("p", `{"key": "a"}`)},
		"what doesn't is told by its field": {checker: there, policy: byTemplate("p", `{"key": 1}`),
			want: "spec.parameters.key: Invalid value"},
		"a template that is still to come is warned of": {checker: missing, policy: byTemplate("p", `{"key": 1}`),
			warned: true},
		"one that can't be used is a problem": {checker: failed, policy: byTemplate("p", `{}`),
			want: "spec.templateRef.name: RegoTemplate t: its rule can't be in force: t.rego:1:1: no"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			found := tc.checker.Check(tc.policy, nil)
			switch {
			case tc.want == "" && len(found) > 0:
				t.Errorf("problems %v", found)
			case tc.want != "" && (len(found) != 1 || !strings.HasPrefix(found[0].String(), tc.want)):
				t.Errorf("problems %v, want %q", found, tc.want)
			}
			warned := (&PolicyHandler{Checker: tc.checker}).withoutTemplate(tc.policy)
			if (len(warned) > 0) != tc.warned {
				t.Errorf("warnings %q", warned)
			}
		})
	}
}
