// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestARetryThatCouldChangeNothingIsRefused(t *testing.T) {
	cases := map[string]struct {
		phase, from v1alpha1.RemediationPhase
		want        string
	}{
		"a plan that has ended":          {phase: v1alpha1.PhaseRolledBack},
		"a wave that failed and is held": {phase: v1alpha1.PhaseHeld, from: v1alpha1.PhaseVerifying},
		"a plan that is at work": {
			phase: v1alpha1.PhaseSoaking, want: "is Soaking: there is nothing to retry"},
		"a plan that nobody has looked at":    {want: "is Planned: there is nothing to retry"},
		"a plan that a breaker holds":         {v1alpha1.PhaseHeld, v1alpha1.PhaseApplying, "BreakerOpen: reset it"},
		"a plan that is held before it began": {v1alpha1.PhaseHeld, v1alpha1.PhasePlanned, "goes on by itself"},
		"a wave whose metrics don't answer":   {v1alpha1.PhaseHeld, v1alpha1.PhaseSoaking, "goes on by itself"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rem := &v1alpha1.Remediation{Status: v1alpha1.RemediationStatus{Phase: tc.phase, HeldFrom: tc.from,
				Reason: v1alpha1.ReasonBreakerOpen, Message: "reset it"}}
			if got := cantRetry(rem); !strings.Contains(got, tc.want) || (got == "") != (tc.want == "") {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestARetryNamesTheBreakersThatKeepThePlanBack(t *testing.T) {
	rem := &v1alpha1.Remediation{}
	rem.Spec.Plan.Policy.Name = "tags"
	newBreaker := func(name string, scope v1alpha1.BreakerScope,
		state v1alpha1.BreakerState) v1alpha1.RemediationBreaker {
		return v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:   v1alpha1.RemediationBreakerSpec{Scope: scope},
			Status: v1alpha1.RemediationBreakerStatus{State: state, Message: "evenkeel breaker reset " + name}}
	}
	ofPolicy := func(name string) v1alpha1.BreakerScope {
		return v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopePolicy, Policy: name}
	}
	now := time.Date(2027, 1, 7, 8, 0, 0, 0, time.UTC)
	global := newBreaker("global", v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopeGlobal}, v1alpha1.BreakerClosed)
	others := newBreaker("policy-other", ofPolicy("other"), v1alpha1.BreakerOpen)
	if got := keptBack(rem, []v1alpha1.RemediationBreaker{global, others}, now); len(got) > 0 {
		t.Errorf("nothing keeps it back, got %q", got)
	}
	global.Spec.Mode = v1alpha1.BreakerForcedOpen
	got := strings.Join(keptBack(rem, []v1alpha1.RemediationBreaker{global, others,
		newBreaker("policy-tags", ofPolicy("tags"), v1alpha1.BreakerOpen)}, now), "\n")
	for _, want := range []string{"evenkeel breaker close global", "evenkeel breaker reset policy-tags"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q isn't in\n%s", want, got)
		}
	}
	if strings.Contains(got, "policy-other") {
		t.Errorf("another policy's breaker is named:\n%s", got)
	}
	global.Spec.ForcedOpenUntilTime = &metav1.Time{Time: now}
	if got := keptBack(rem, []v1alpha1.RemediationBreaker{global}, now); len(got) > 0 {
		t.Errorf("the hold has ended, got %q", got)
	}
}

// A plan that was made since and hasn't ended comes first, also where a breaker holds it. Of a policy
// that is gone nothing is planned, and that isn't said either.
func TestARetrySaysWhatFollows(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	plan := func(name string, phase v1alpha1.RemediationPhase) *v1alpha1.Remediation {
		rem := &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name),
			Labels: map[string]string{v1alpha1.LabelPolicy: "tags"}}}
		rem.Spec.Plan.Policy.Name, rem.Spec.Plan.Policy.UID = "tags", "uid-1"
		rem.Status.Phase, rem.Status.Reason = phase, v1alpha1.ReasonBreakerOpen
		return rem
	}
	policy := func(name, uid string) *v1alpha1.ClusterRegoPolicy {
		return &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}}
	}
	ended, later := plan("tags-1", v1alpha1.PhaseRolledBack), plan("tags-2", v1alpha1.PhaseHeld)
	for name, tc := range map[string]struct {
		policy *v1alpha1.ClusterRegoPolicy
		later  *v1alpha1.Remediation
		want   string
	}{
		"a later plan is held": {policy("tags", "uid-1"), later,
			"policy tags is planned again once plan tags-2 of it has ended, which is Held (BreakerOpen); " +
				"see: evenkeel rollout get tags-2"},
		"a later plan has ended": {policy("tags", "uid-1"), plan("tags-2", v1alpha1.PhaseRolledBack),
			"policy tags is planned again"},
		"the policy is gone": {policy("other", "uid-1"), later,
			"policy tags is gone: nothing is planned again, and an alert of remediation tags-1 ends"},
		"the policy was recreated": {policy("tags", "uid-2"), later,
			"policy tags was deleted and recreated since: nothing is planned again for remediation tags-1, " +
				"whose alert ends, and the new policy is planned without it"},
	} {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(scheme).
				WithObjects(ended.DeepCopy(), tc.later, tc.policy).Build()
			got, err := retry(t.Context(), c, ended.DeepCopy(), "")
			if err != nil || got != tc.want {
				t.Errorf("said %q, %v, want %q", got, err, tc.want)
			}
			asked := &v1alpha1.Remediation{}
			err = c.Get(t.Context(), client.ObjectKeyFromObject(ended), asked)
			if err != nil || !asked.RetryAsked() {
				t.Errorf("the retry isn't asked for: %v", err)
			}
		})
	}
}

// Who may ask and not read policies isn't told what they can't know.
func TestARetryOfAPolicyThatCantBeReadClaimsNothing(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	rem := &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: "tags-1"}}
	rem.Spec.Plan.Policy.Name, rem.Status.Phase = "tags", v1alpha1.PhaseRolledBack
	unreadable := interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			if _, ok := o.(*v1alpha1.ClusterRegoPolicy); ok {
				return errors.New("forbidden")
			}
			return c.Get(ctx, key, o, opts...)
		}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(rem.DeepCopy()).
		WithInterceptorFuncs(unreadable).Build()
	got, err := retry(t.Context(), c, rem, "")
	if want := "policy tags is planned again if it is still there; "; err != nil || !strings.HasPrefix(got, want) {
		t.Errorf("said %q, %v, want %q at its beginning", got, err, want)
	}
}
