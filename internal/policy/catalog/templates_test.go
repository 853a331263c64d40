// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/template"
)

const saysParameter = "package p\n\nimport rego.v1\n\ndeny contains input.parameters.says if input.pod\n"

// templateOf is a template that says what the parameter of its policies says.
func templateOf(generation int64, changes ...func(*v1alpha1.RegoTemplate)) *v1alpha1.RegoTemplate {
	t := &v1alpha1.RegoTemplate{ObjectMeta: metav1.ObjectMeta{Name: "t", UID: "t1", Generation: generation},
		Spec: v1alpha1.RegoTemplateSpec{Rego: v1alpha1.RegoSource{Main: saysParameter},
			ParameterSchema: &v1alpha1.ParameterSchema{OpenAPIV3Schema: apiextensionsv1.JSON{Raw: []byte(
				`{"type": "object", "properties": {"says": {"type": "string", "default": "nothing"}}}`)}}}}
	for _, change := range changes {
		change(t)
	}
	return t
}

// by is a policy that names the template.
func by(name, parameters string) *v1alpha1.ClusterRegoPolicy {
	p := saying(name, "")
	p.Spec.Rego, p.Spec.TemplateRef = v1alpha1.RegoSource{}, &v1alpha1.TemplateReference{Name: "t"}
	p.Spec.Parameters = &apiextensionsv1.JSON{Raw: []byte(parameters)}
	return p
}

func verdicts(t *testing.T, c *catalog.Catalog) map[string]string {
	t.Helper()
	return said(c.Snapshot().Evaluate(t.Context(), podRequest()))
}

func TestPoliciesJudgeByTheirTemplateWhicheverComesFirst(t *testing.T) {
	set := map[string]func(*catalog.Catalog) error{
		"t": func(c *catalog.Catalog) error { return c.SetTemplate(templateOf(1)) },
		"a": func(c *catalog.Catalog) error { return c.Set(by("a", `{"says": "red"}`)) },
		"b": func(c *catalog.Catalog) error { return c.Set(by("b", `{}`)) },
		"c": func(c *catalog.Catalog) error { return c.Set(saying("c", "blue")) },
	}
	revisions := map[string]bool{}
	for _, order := range []string{"tabc", "atbc", "abct", "cbat"} {
		t.Run(order, func(t *testing.T) {
			c := newCatalog(t)
			for _, one := range strings.Split(order, "") {
				if err := set[one](c); err != nil && !errors.Is(err, template.ErrNotFound) {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(map[string]string{"a": "red", "b": "nothing", "c": "blue"},
				verdicts(t, c)); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
			revision, _ := c.Snapshot().Revision("a")
			revisions[revision] = true
			if status, known := c.TemplateStatus("t"); !known || len(c.Snapshot().Naming("t")) != 2 ||
				status.Err != nil {
				t.Errorf("the template stands so: %+v", status)
			}
		})
	}
	if len(revisions) != 1 {
		t.Errorf("the order makes another revision: %v", revisions)
	}
}

// TestATemplatesChangeIsARevisionOfEachOfItsPolicies wants the change in force at once, and no
// other policy touched.
func TestATemplatesChangeIsARevisionOfEachOfItsPolicies(t *testing.T) {
	c := newCatalog(t, saying("c", "blue"))
	for _, err := range []error{c.SetTemplate(templateOf(1)), c.Set(by("a", `{"says": "red"}`)),
		c.Set(by("b", `{"says": "green"}`))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	revisions := func() []string {
		var out []string
		for _, name := range []string{"a", "b", "c"} {
			revision, _ := c.Snapshot().Revision(name)
			out = append(out, revision)
		}
		return out
	}
	before, changed := revisions(), c.Subscribe()
	if err := c.SetTemplate(templateOf(2, func(t *v1alpha1.RegoTemplate) {
		t.Spec.Rego.Main = strings.Replace(saysParameter, "contains input.parameters.says",
			`contains concat(" ", ["very", input.parameters.says])`, 1)
	})); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	default:
		t.Error("nobody was told")
	}
	if diff := cmp.Diff(map[string]string{"a": "very red", "b": "very green", "c": "blue"},
		verdicts(t, c)); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	if after := revisions(); after[0] == before[0] || after[1] == before[1] || after[2] != before[2] {
		t.Errorf("revisions %q, before %q", after, before)
	}
	if status, _ := c.Status("a"); status.Generation != 1 || status.Err != nil {
		t.Errorf("status %+v", status)
	}
}

// TestTheLastGoodRevisionStays breaks what a policy has its rule from in each way that
// admission would have refused: what was in force stays, as that of a policy which doesn't
// compile does, and comes back when the template does.
func TestTheLastGoodRevisionStays(t *testing.T) {
	broken := func(c *catalog.Catalog) {
		_ = c.SetTemplate(templateOf(2, func(t *v1alpha1.RegoTemplate) { t.Spec.Rego.Main = "no rego" }))
	}
	cases := map[string]struct {
		change func(*catalog.Catalog)
		is     error
		says   string
	}{
		"the template is gone": {func(c *catalog.Catalog) {
			c.DeleteTemplate("t")
		}, template.ErrNotFound, `there is no such RegoTemplate as "t"`},
		"the template doesn't compile": {
			broken, template.ErrFailed, "RegoTemplate t: its rule can't be in force: main.rego:1:1"},
		"the template can't be read": {func(c *catalog.Catalog) {
			_ = c.SetTemplate(templateOf(2, func(t *v1alpha1.RegoTemplate) {
				t.Annotations = map[string]string{v1alpha1.AnnotationMalformed: "spec.rego: a number"}
			}))
		}, template.ErrFailed, "isn't of the form of its kind: spec.rego: a number"},
		"the schema can't be taken": {func(c *catalog.Catalog) {
			_ = c.SetTemplate(templateOf(2, func(t *v1alpha1.RegoTemplate) {
				t.Spec.ParameterSchema.OpenAPIV3Schema.Raw = []byte(`{}`)
			}))
		}, template.ErrFailed, "set type: object"},
		"the parameters don't fit any more": {func(c *catalog.Catalog) {
			_ = c.SetTemplate(templateOf(2, func(t *v1alpha1.RegoTemplate) {
				t.Spec.ParameterSchema.OpenAPIV3Schema.Raw = []byte(
					`{"type": "object", "properties": {"says": {"type": "integer"}}}`)
			}))
		}, nil, `spec.parameters.says: Invalid value: "string"`},
		"the policy names another": {func(c *catalog.Catalog) {
			p := by("a", `{"says": "red"}`)
			p.Spec.TemplateRef.Name = "u"
			_ = c.Set(p)
		}, template.ErrNotFound, `as "u"`},
		"the policy has both": {func(c *catalog.Catalog) {
			p := by("a", `{"says": "red"}`)
			p.Spec.Rego.Main = saysParameter
			_ = c.Set(p)
		}, nil, "give exactly one of them"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newCatalog(t)
			if err := errors.Join(c.SetTemplate(templateOf(1)), c.Set(by("a", `{"says": "red"}`))); err != nil {
				t.Fatal(err)
			}
			good, _ := c.Status("a")
			tc.change(c)
			bad, _ := c.Status("a")
			if bad.Err == nil || tc.is != nil && !errors.Is(bad.Err, tc.is) ||
				!strings.Contains(bad.Err.Error(), tc.says) || bad.Revision != good.Revision {
				t.Errorf("status %+v, want revision %s and %q", bad, good.Revision, tc.says)
			}
			if diff := cmp.Diff(map[string]string{"a": "red"}, verdicts(t, c)); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
			if err := errors.Join(c.SetTemplate(templateOf(3)), c.Set(by("a", `{"says": "red"}`))); err != nil {
				t.Error(err)
			}
			if again, _ := c.Status("a"); again.Err != nil || again.Revision != good.Revision {
				t.Errorf("with the template as it was: %+v", again)
			}
		})
	}
}

// TestWithoutItsTemplateAPolicyIsAnErrorNotAPass is what a manager sees that has just started.
func TestWithoutItsTemplateAPolicyIsAnErrorNotAPass(t *testing.T) {
	c := newCatalog(t)
	_ = c.Set(by("a", `{"says": "red"}`))
	if got := verdicts(t, c)["a"]; !strings.HasPrefix(got, "error: ") ||
		!strings.Contains(got, `there is no such RegoTemplate as "t"`) {
		t.Errorf("verdict %q", got)
	}
}

func TestTheNamesOfATemplatesPolicies(t *testing.T) {
	c := newCatalog(t, saying("c", "blue"))
	_, _ = c.Set(by("b", `{}`)), c.Set(by("a", `{}`))
	names := func() []string {
		var out []string
		for _, p := range c.Snapshot().Naming("t") {
			out = append(out, p.Name)
		}
		return out
	}
	if got := names(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%q", got)
	}
	_ = c.Set(saying("b", "green"))
	c.Delete("a")
	if got := names(); len(got) > 0 {
		t.Errorf("%q are left", got)
	}
	if _, known := c.TemplateStatus("t"); known {
		t.Error("the catalog knows a template that it was never given")
	}
}
