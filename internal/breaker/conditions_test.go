// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"flag"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/test/kstatus"
)

var update = flag.Bool("update", false, "write docs/reference/conditions.md anew")

func TestConditionsOfBreakers(t *testing.T) {
	type demotion = v1alpha1.BreakerDemotion
	state := func(name string, mode v1alpha1.BreakerMode, st v1alpha1.BreakerState,
		demoted *demotion) kstatus.State[*v1alpha1.RemediationBreaker] {
		cb := &v1alpha1.RemediationBreaker{Spec: v1alpha1.RemediationBreakerSpec{Mode: mode},
			Status: v1alpha1.RemediationBreakerStatus{State: st, Demoted: demoted, Message: "why"}}
		cb.Status.Mode = modeOf(cb, time.Time{})
		return kstatus.State[*v1alpha1.RemediationBreaker]{
			Name: name, Object: cb, Set: func(cb *v1alpha1.RemediationBreaker, now time.Time) {
				kube.SetConditions(seenBreaker{cb, now}, now, breakerConditions(cb, now)...)
			}}
	}
	demoted := &demotion{Message: "it opened 3 times"}
	kstatus.Table(t, *update, []kstatus.State[*v1alpha1.RemediationBreaker]{
		state("closed", "", v1alpha1.BreakerClosed, nil),
		state("open, until its cooldown ends", "", v1alpha1.BreakerOpen, nil),
		state("half-open: one plan's canary goes through", v1alpha1.BreakerAutomatic, v1alpha1.BreakerHalfOpen, nil),
		state("a person holds it open", v1alpha1.BreakerForcedOpen, v1alpha1.BreakerClosed, nil),
		state("its policy is demoted to dry runs, and it is closed", "", v1alpha1.BreakerClosed, demoted),
		state("its policy is demoted to dry runs, and it is open", "", v1alpha1.BreakerOpen, demoted),
	})
}

// A plan that counts an outcome doesn't do what people ask of the breaker: until its
// controller has, the status doesn't speak of that generation.
func TestABreakersStatusSpeaksOfWhatWasActedUpon(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*v1alpha1.RemediationBreaker)
		want   int64
	}{
		"all that is asked was done": {change: func(*v1alpha1.RemediationBreaker) {}, want: 5},
		"a reset isn't carried out yet": {want: 4,
			change: func(cb *v1alpha1.RemediationBreaker) { cb.Spec.ResetToken = "new" }},
		"a reset was carried out": {want: 5,
			change: func(cb *v1alpha1.RemediationBreaker) {
				cb.Spec.ResetToken, cb.Status.LastHandledResetToken = "t", "t"
			}},
		"nobody has looked at the mode yet": {want: 4,
			change: func(cb *v1alpha1.RemediationBreaker) { cb.Spec.Mode = v1alpha1.BreakerForcedOpen }},
		"nobody has looked at a hold that ended meanwhile": {want: 4,
			change: func(cb *v1alpha1.RemediationBreaker) {
				cb.Spec.Mode = v1alpha1.BreakerForcedOpen
				cb.Spec.ForcedOpenUntilTime = &metav1.Time{Time: time.Unix(1, 0)}
				cb.Status.Mode = v1alpha1.BreakerForcedOpen
			}},
		"a hold has ended, which was seen": {want: 5,
			change: func(cb *v1alpha1.RemediationBreaker) {
				cb.Spec.Mode = v1alpha1.BreakerForcedOpen
				cb.Spec.ForcedOpenUntilTime = &metav1.Time{Time: time.Unix(1, 0)}
			}},
		"it was made a moment ago": {reason: "the schema's default stays, and a condition can't have it",
			change: func(cb *v1alpha1.RemediationBreaker) {
				cb.Status.Mode, cb.Status.ObservedGeneration = "", v1alpha1.NotObserved
			}, want: v1alpha1.NotObserved},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cb := &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Generation: 5},
				Status: v1alpha1.RemediationBreakerStatus{Mode: v1alpha1.BreakerAutomatic, ObservedGeneration: 4}}
			tc.change(cb)
			now := time.Unix(1, 0)
			kube.SetConditions(seenBreaker{cb, now}, now, breakerConditions(cb, now)...)
			if got := cb.Status.ObservedGeneration; got != tc.want {
				t.Errorf("the status speaks of generation %d, want %d", got, tc.want)
			}
			if got := cb.Status.Conditions[0].ObservedGeneration; got != max(tc.want, 0) {
				t.Errorf("the condition speaks of generation %d", got)
			}
		})
	}
}
