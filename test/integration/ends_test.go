// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// patched is what becomes of a change that somebody asks for in an object's spec.
func patched(ctx context.Context, obj client.Object, spec string) error {
	return suite.API.Patch(ctx, obj.DeepCopyObject().(client.Object),
		client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":%s}`, spec)))
}

var _ = Describe("A pause with an end", func() {
	var namespace string
	BeforeEach(func(ctx context.Context) {
		namespace = suite.Namespace(ctx, "ends")
		suite.Create(ctx, fixture.ConfigMaps(namespace, 4)...)
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic, canarySoaking(8*time.Second))))
	})

	It("goes on by itself when the end of the pause has come", func(ctx context.Context) {
		rem := suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSoaking)
		end := time.Now().UTC().Add(25 * time.Second).Truncate(time.Second)
		say(ctx, rem, fmt.Sprintf(`{"desiredState":"Paused","pausedUntilTime":%q,"reason":"INC-42"}`,
			end.Format(time.RFC3339)))
		rem = awaitReason(ctx, namespace, v1alpha1.PhaseHeld, v1alpha1.ReasonPaused)
		Expect(rem.Status.Message).To(And(ContainSubstring("until "+end.Format(time.RFC3339)),
			ContainSubstring("INC-42")))
		asked := v1alpha1.Requests(rem)
		Expect(asked).To(HaveLen(1))
		Expect(asked[0].What()).To(Equal("Pause until " + end.Format(time.RFC3339)))
		Consistently(ctx, func() []string { return patchedObjects(namespace) }, time.Until(end)-time.Second).Should(
			HaveLen(1))
		rem = suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSucceeded)
		Expect(time.Now()).To(BeTemporally(">=", end))
		Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 4}))
		Expect(rem.Spec.DesiredState).To(Equal(v1alpha1.StatePaused), "the spec stays what people wrote")
	})

	It("has an end to come, beside nothing but a pause, and one that is left goes with the pause",
		func(ctx context.Context) {
			const later = `"pausedUntilTime":"2099-01-07T08:00:00Z"`
			rem := suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSoaking)
			Expect(patched(ctx, rem, `{"desiredState":"Paused","pausedUntilTime":"2020-01-07T08:00:00Z"}`)).To(
				MatchError(ContainSubstring("2020-01-07T08:00:00Z, has passed")))
			Expect(patched(ctx, rem, `{"desiredState":"Paused","pausedUntilTime":"2099-01-07t08:00:00z"}`)).To(
				MatchError(ContainSubstring("should match")))
			Expect(patched(ctx, rem, `{`+later+`}`)).To(MatchError(ContainSubstring("it needs desiredState Paused")))
			say(ctx, rem, `{"desiredState":"Paused",`+later+`}`)
			rem = awaitReason(ctx, namespace, v1alpha1.PhaseHeld, v1alpha1.ReasonPaused)
			say(ctx, rem, `{"desiredState":"Running"}`)
			rem = suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSucceeded)
			Expect(rem.Spec.PausedUntilTime).To(BeNil())
		})
})

var _ = Describe("A breaker that is held open until a time", func() {
	It("lets writes through by itself when that has come, and can be deleted then", func(ctx context.Context) {
		namespace := suite.Namespace(ctx, "held-until")
		suite.Create(ctx, fixture.ConfigMap(namespace, "target"))
		breaker := makeBreaker(ctx, namespace, v1alpha1.BreakerAutomatic)
		end := time.Now().UTC().Add(40 * time.Second).Truncate(time.Second)
		Expect(patched(ctx, breaker, `{"mode":"ForcedOpen","forcedOpenUntilTime":"2020-01-07T08:00:00Z"}`)).To(
			MatchError(ContainSubstring("2020-01-07T08:00:00Z, has passed")))
		Expect(patched(ctx, breaker, fmt.Sprintf(`{"forcedOpenUntilTime":%q}`, end.Format(time.RFC3339)))).To(
			MatchError(ContainSubstring("it needs that mode")))
		Expect(patched(ctx, breaker, fmt.Sprintf(`{"mode":"ForcedOpen","forcedOpenUntilTime":%q,"reason":"INC-42"}`,
			end.Format(time.RFC3339)))).To(Succeed())
		awaitByKubectl(ctx, "Closed=false", breaker)
		Expect(suite.API.Delete(ctx, breaker.DeepCopy())).To(MatchError(ContainSubstring("a person holds it open")))
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic)))
		rem := awaitReason(ctx, namespace, v1alpha1.PhaseHeld, v1alpha1.ReasonBreakerOpen)
		Expect(rem.Status.Message).To(ContainSubstring("no new write until " + end.Format(time.RFC3339)))

		suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSucceeded)
		Expect(time.Now()).To(BeTemporally(">=", end))
		awaitByKubectl(ctx, "Closed", breaker)
		suite.AwaitEvent(ctx, v1alpha1.EventKillSwitchOff, breaker.Name,
			ContainSubstring("a person held it open until "+end.Format(time.RFC3339)))
		Expect(suite.Get(ctx, breaker)).To(Succeed())
		Expect(breaker.Spec.Mode).To(Equal(v1alpha1.BreakerForcedOpen), "the spec stays what people wrote")
		Expect(suite.API.Delete(ctx, breaker.DeepCopy())).To(Succeed())
	})
})
