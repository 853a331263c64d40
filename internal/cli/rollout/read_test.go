// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/output"
	"evenkeel.dev/evenkeel/internal/cli/terminal"
	"evenkeel.dev/evenkeel/test/fixture"
)

// refusing is a cluster that holds objects, and whose API server refuses a verb on some resources.
func refusing(t *testing.T, resources []string, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	refuse := func(verb, resource string) error {
		for _, r := range resources {
			if r == resource {
				return apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource(r).GroupResource(), "", fmt.Errorf(
					"User %q cannot %s resource %q in API group %q at the cluster scope", "robin", verb, r,
					v1alpha1.GroupVersion.Group))
			}
		}
		return nil
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*v1alpha1.RemediationBreakerList); ok {
				if err := refuse("list", "remediationbreakers"); err != nil {
					return err
				}
			}
			return c.List(ctx, list, opts...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			resource := map[string]string{"*v1alpha1.RemediationSlice": "remediationslices",
				"*v1alpha1.ClusterRegoPolicy": "clusterregopolicies"}[fmt.Sprintf("%T", o)]
			if err := refuse("get", resource); err != nil {
				return err
			}
			return c.Get(ctx, key, o, opts...)
		}}).Build()
}

// plan is a plan that waits for an answer, with its slice and a breaker.
func plan() []client.Object {
	rem := &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: "tags-1",
		Labels: map[string]string{v1alpha1.LabelPolicy: "tags"}}}
	rem.Spec.Plan = v1alpha1.RemediationPlan{Policy: v1alpha1.PlannedPolicy{Name: "tags"}, Targets: 1,
		Waves: fixture.PlannedWaves(1), Slices: []string{"tags-1-0"},
		Rollout: fixture.Planned(v1alpha1.RemediationManual)}
	rem.Status.Phase = v1alpha1.PhaseAwaitingApproval
	slice := &v1alpha1.RemediationSlice{ObjectMeta: metav1.ObjectMeta{Name: "tags-1-0"}, Remediation: "tags-1",
		Targets: []v1alpha1.Target{{Object: v1alpha1.ObjectReference{Kind: "ConfigMap", Namespace: "shop", Name: "c"}}}}
	cb := &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: "global"}}
	cb.Spec.Scope.Type, cb.Status.State = v1alpha1.BreakerScopeGlobal, v1alpha1.BreakerClosed
	return []client.Object{rem, slice, cb}
}

// TestWhatMayNotBeReadOfARolloutIsNamedAndTheRestShown: the plan itself says much already.
func TestWhatMayNotBeReadOfARolloutIsNamedAndTheRestShown(t *testing.T) {
	const grants = "ask for that permission: ClusterRole evenkeel-viewer grants it"
	for name, tc := range map[string]struct {
		refused        []string
		want, unwanted []string
	}{
		"all may be read": {nil, []string{"global is Closed", "canary", "computed for 0 of 1 target so far"},
			[]string{"Not read", "unavailable"}},
		"no breakers": {[]string{"remediationbreakers"}, []string{
			"breaker    unavailable: you may not read circuit breakers", "canary", "Not read (1)", "list circuit breakers: ", `cannot list resource "remediationbreakers"`, grants},
			[]string{"counts as open", "global is"}},
		"no targets": {[]string{"remediationslices"}, []string{
			"To approve\n  unavailable: you may not read its targets",
			"Waves\n  unavailable: you may not read its targets", "global is Closed",
			"whether one of a namespace covers it isn't known", "Not read (1)",
			"read 1 of 1 slice, which hold its targets: ", `cannot get resource "remediationslices"`, grants},
			[]string{"computed for", "canary "}},
		"neither": {[]string{"remediationbreakers", "remediationslices"}, []string{"Policy    tags", "Not read (2)",
			`cannot list resource "remediationbreakers"`, `cannot get resource "remediationslices"`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			v := viewer{client: refusing(t, tc.refused, plan()...), screen: &terminal.Screen{Out: &out}}
			if err := v.one(t.Context(), "tags-1", &output.Flag{Format: output.Table}); err != nil {
				t.Fatal(err)
			}
			for _, part := range tc.want {
				if !strings.Contains(out.String(), part) {
					t.Errorf("no %q in\n%s", part, out.String())
				}
			}
			for _, part := range tc.unwanted {
				if strings.Contains(out.String(), part) {
					t.Errorf("%q in\n%s", part, out.String())
				}
			}
		})
	}
}

// Nobody approves what they couldn't look at, and nobody waits a minute to learn why.
func TestNothingIsApprovedWhoseTargetsMayNotBeRead(t *testing.T) {
	a := approval{lookEach: time.Hour, timeout: time.Hour}
	objects := plan()
	c := refusing(t, []string{"remediationslices"}, objects...)
	_, err := a.await(t.Context(), c, objects[0].(*v1alpha1.Remediation))
	if err == nil {
		t.Fatal("it may be approved")
	}
	for _, want := range []string{"remediation tags-1: what it would change isn't known, and nothing was answered: ",
		"ClusterRole evenkeel-viewer grants it", "--without-diff"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}

// A watched rollout is followed without what may not be read, which is named once.
func TestAWatchedRolloutNamesOnceWhatMayNotBeRead(t *testing.T) {
	objects := plan()
	objects[0].(*v1alpha1.Remediation).Status.Phase = v1alpha1.PhaseSucceeded
	var out, told bytes.Buffer
	v := viewer{client: refusing(t, []string{"remediationbreakers", "clusterregopolicies"}, objects...),
		screen: &terminal.Screen{Out: &out}, errors: &told}
	rem, err := v.await(t.Context(), "tags")
	if err != nil || rem.Name != "tags-1" {
		t.Fatalf("await gives %v, %v", rem, err)
	}
	if want := "whether another plan follows isn't known: read policy tags: "; !strings.HasPrefix(told.String(), want) {
		t.Errorf("told %q, want %q", told.String(), want)
	}
	told.Reset()
	for range 2 {
		r, err := v.read(t.Context(), rem.Name)
		if err := errors.Join(err, v.show(r)); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Count(told.String(), "not read: list circuit breakers: "); got != 1 {
		t.Errorf("told %d times:\n%s", got, told.String())
	}
	if !strings.Contains(out.String(), "Succeeded") {
		t.Errorf("the rollout isn't shown:\n%s", out.String())
	}
}
