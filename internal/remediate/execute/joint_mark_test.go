// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// annotations are those of the company's object.
func (c *company) annotations() map[string]string {
	c.Helper()
	web := &corev1.ConfigMap{}
	if err := c.api.Get(c.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, web); err != nil {
		c.Fatal(err)
	}
	return web.Annotations
}

// The one write of several plans names the plan that leads, beside what the others' fixes
// make of the annotations; its undoing takes the name away, and that of the others doesn't.
func TestAJointWriteNamesThePlanThatLeads(t *testing.T) {
	owned := wants("two", "b", "good")
	owned.Spec.Rego.Main = strings.ReplaceAll(strings.ReplaceAll(owned.Spec.Rego.Main,
		`input.object.data["b"] != "good"`, `not input.object.metadata.annotations.owner`),
		`{"op": "replace", "path": "/data/b", "value": "good"}`,
		`{"op": "add", "path": "/metadata/annotations", "value": {"owner": "shop"}}`)
	c := newCompany(t, wants("one", "a", "good"), owned)
	if err := c.lead(); err != nil {
		t.Fatal(err)
	}
	c.must([]string{"Applied /data/a", "Applied /metadata/annotations"}, 1,
		map[string]string{"a": "good", "b": "bad", "c": "bad"})
	const key = v1alpha1.AnnotationLastRemediation
	if got := c.annotations(); len(got) != 2 || got["owner"] != "shop" || got[key] != "plan-0" {
		t.Errorf("the annotations are %v", got)
	}
	if err := c.passes[1].Work(t.Context(), rollout.Intent{Revert: []int{0}}); err != nil {
		t.Fatal(err)
	}
	if got := c.annotations(); len(got) != 1 || got[key] != "plan-0" {
		t.Errorf("after the undoing of the part the annotations are %v", got)
	}
	if err := c.passes[0].Work(t.Context(), rollout.Intent{Revert: []int{0}}); err != nil {
		t.Fatal(err)
	}
	c.must([]string{"Reverted /data/a", "Reverted /metadata/annotations"}, 3,
		map[string]string{"a": "bad", "b": "bad", "c": "bad"})
	if got := c.annotations(); len(got) != 0 {
		t.Errorf("after both the annotations are %v", got)
	}
}
