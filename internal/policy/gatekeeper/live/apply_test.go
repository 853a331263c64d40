// SPDX-License-Identifier: Apache-2.0

package live

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// teamPolicy is what a constraint becomes that denies in some namespaces.
func teamPolicy(namespaces ...string) *v1alpha1.ClusterRegoPolicy {
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "services"}}
	p.Spec.Owner = "platform"
	p.Spec.Match.Namespaces = namespaces
	p.Spec.Admission.Action = v1alpha1.AdmissionDeny
	return p
}

func storing(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

func stored(t *testing.T, c client.Client) *v1alpha1.ClusterRegoPolicy {
	t.Helper()
	p := &v1alpha1.ClusterRegoPolicy{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "services"}, p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWhatApplyMakesOfAPolicyThatIsThere(t *testing.T) {
	cases := map[string]struct {
		change func(*v1alpha1.ClusterRegoPolicy) // of what was applied, by a person
		wants  []string                          // the namespaces of the constraint now
		force  bool
		want   Outcome
		says   []string // of an error
		has    []string // the namespaces of the policy then
	}{
		"nothing has changed":        {wants: []string{"shop"}, want: Unchanged, has: []string{"shop"}},
		"the constraint has changed": {wants: []string{"web"}, want: Configured, has: []string{"web"}},
		"it enforces": {change: func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Admission.Action = v1alpha1.AdmissionDeny
		}, wants: []string{"shop"}, want: Unchanged, has: []string{"shop"}},
		"a person has added to a list": {change: func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Match.Namespaces = []string{"shop", "mine"}
		}, wants: []string{"shop"}, says: []string{"somebody else has changed", "(spec.match.namespaces)",
			"--force-conflicts"}, has: []string{"shop", "mine"}},
		"a person has added a field": {change: func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Match.ExcludedNamespaces = []string{"mine"}
		}, wants: []string{"web"}, says: []string{"(spec.match.excludedNamespaces)"}, has: []string{"shop"}},
		"a person has made it what it becomes": {change: func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Match.Namespaces = []string{"web"}
		}, wants: []string{"web"}, want: Configured, has: []string{"web"}},
		"a person's change is written over": {change: func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Match.Namespaces = []string{"shop", "mine"}
		}, wants: []string{"shop"}, force: true, want: Configured, has: []string{"shop"}},
		"it doesn't say how it was made": {change: func(p *v1alpha1.ClusterRegoPolicy) {
			delete(p.Annotations, v1alpha1.AnnotationMigratedSpec)
		}, wants: []string{"web"}, says: []string{"(spec.match.namespaces)"}, has: []string{"shop"}},
		"it wasn't written by migration": {change: func(p *v1alpha1.ClusterRegoPolicy) { p.Annotations = nil },
			wants: []string{"web"}, force: true, says: []string{"wasn't written by migration"}, has: []string{"shop"}},
		"it is another constraint's": {change: func(p *v1alpha1.ClusterRegoPolicy) {
			p.Annotations[v1alpha1.AnnotationMigratedFrom] = "Hosted/services"
		}, wants: []string{"web"}, force: true, says: []string{"stands for Hosted/services already"},
			has: []string{"shop"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := storing(t)
			from := Origin{ID: "Teamed/services", UID: "u1", Digest: "d1"}
			if got, err := (&Applier{Client: c}).Apply(t.Context(), teamPolicy("shop"), policyKind, from); err != nil ||
				got != Created {
				t.Fatalf("first %q, %v", got, err)
			}
			before := stored(t, c)
			if tc.change != nil {
				tc.change(before)
				if err := c.Update(t.Context(), before); err != nil {
					t.Fatal(err)
				}
			}
			again := &Applier{Client: c, Force: tc.force}
			got, err := again.Apply(t.Context(), teamPolicy(tc.wants...), policyKind, from)
			if got != tc.want || (err == nil) != (len(tc.says) == 0) {
				t.Fatalf("%q, %v; want %q and %q", got, err, tc.want, tc.says)
			}
			for _, part := range tc.says {
				if !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "delete") {
					t.Errorf("it says %v, want %q", err, part)
				}
			}
			after := stored(t, c)
			if diff := cmp.Diff(tc.has, after.Spec.Match.Namespaces); diff != "" {
				t.Error(diff)
			}
			if after.Spec.Admission.Action != before.Spec.Admission.Action {
				t.Errorf("its action is %s, and was %s", after.Spec.Admission.Action, before.Spec.Admission.Action)
			}
		})
	}
}

func TestANewPolicyOnlyRecordsAndIsMadeOfItsConstraint(t *testing.T) {
	c := constraintAt(time.Time{}, map[string]any{})
	_ = unstructured.SetNestedField(c.Object.Object, "warn", "spec", "enforcementAction")
	s, api := &Source{}, storing(t)
	if _, err := (&Applier{Client: api}).Apply(t.Context(), teamPolicy("shop"), policyKind, s.Origin(c)); err != nil {
		t.Fatal(err)
	}
	p := stored(t, api)
	if p.Spec.Admission.Action != v1alpha1.AdmissionAudit || p.Annotations[v1alpha1.AnnotationMigratedUID] != "u1" {
		t.Errorf("its action is %s, its annotations %v", p.Spec.Admission.Action, p.Annotations)
	}
	for _, action := range []string{"deny", dryRun} {
		_ = unstructured.SetNestedField(c.Object.Object, action, "spec", "enforcementAction")
		if err := s.Stale(p, c); err != nil {
			t.Errorf("with enforcementAction %s it is stale: %v", action, err)
		}
	}
}
