// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("Undoing a plan that has ended", func() {
	var (
		namespace string
		before    map[string]string
	)
	edit := func(ctx context.Context, name, data string) {
		GinkgoHelper()
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		Expect(suite.API.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(data)))).To(Succeed())
	}
	BeforeEach(func(ctx context.Context) {
		namespace = suite.Namespace(ctx, "undo")
		suite.Create(ctx, fixture.ConfigMaps(namespace, 4)...)
		before = states(ctx, namespace)
	})
	// fixed is the plan that has fixed all objects, of a policy with such an enforcement.
	fixed := func(ctx context.Context, action v1alpha1.AdmissionAction) *v1alpha1.Remediation {
		GinkgoHelper()
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState, fixture.Enforced(action),
			fixture.OnFailure(v1alpha1.FailurePolicyFail), fixture.Remediated(v1alpha1.RemediationAutomatic)))
		rem := suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSucceeded)
		Expect(states(ctx, namespace)).NotTo(Equal(before))
		return rem
	}

	It("undoes by a slice that a person has restored", func(ctx context.Context) {
		rem := fixed(ctx, v1alpha1.AdmissionAudit)
		slice := &v1alpha1.RemediationSlice{ObjectMeta: metav1.ObjectMeta{Name: rem.Spec.Plan.Slices[0]}}
		Expect(suite.Get(ctx, slice)).To(Succeed())
		backup := slice.DeepCopy()
		backup.UID, backup.ResourceVersion, backup.ManagedFields = "", "", nil
		Expect(suite.API.Delete(ctx, slice)).To(Succeed())
		Expect(suite.AsManager().Create(ctx, backup)).To(Succeed())
		Expect(backup.UID).NotTo(Equal(slice.UID))
		_, _, code := evenkeel(ctx, "rollout", "undo", namespace)
		Expect(code).To(Equal(0))
		Eventually(ctx, func() map[string]string { return states(ctx, namespace) }).Should(Equal(before))
		suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseRolledBack)
	})

	It("undoes nothing by the records of a plan that was deleted, once both are restored, and says so",
		func(ctx context.Context) {
			rem := fixed(ctx, v1alpha1.AdmissionAudit)
			fixedStates := states(ctx, namespace)
			slice := &v1alpha1.RemediationSlice{ObjectMeta: metav1.ObjectMeta{Name: rem.Spec.Plan.Slices[0]}}
			Expect(suite.Get(ctx, slice)).To(Succeed())
			plan, records := rem.DeepCopy(), slice.DeepCopy()
			suite.UpdatePolicy(ctx, suite.Policy(ctx, namespace), func(p *v1alpha1.ClusterRegoPolicy) {
				p.Spec.Remediation.Mode = v1alpha1.RemediationDisabled
			})
			Expect(suite.API.Delete(ctx, rem)).To(Succeed())
			Eventually(ctx, func() error {
				return suite.Get(ctx, rem)
			}).Should(MatchError(ContainSubstring("not found")))
			Eventually(ctx, func() error {
				return client.IgnoreNotFound(suite.API.Delete(ctx, slice))
			}).Should(Succeed())
			for _, obj := range []client.Object{plan, records} {
				obj.SetUID("")
				obj.SetResourceVersion("")
				obj.SetManagedFields(nil)
			}
			Expect(suite.AsManager().Create(ctx, records)).To(Succeed())
			Expect(suite.AsManager().Create(ctx, plan)).To(Succeed())
			say(ctx, plan, `{"desiredState":"Undone"}`)
			Eventually(ctx, func(g Gomega) {
				g.Expect(suite.Get(ctx, plan)).To(Succeed())
				// The garbage collector may have taken the slice along by then: its owner is gone.
				g.Expect(plan.Status.Message).To(
					Or(ContainSubstring("belongs to the plan with UID"), ContainSubstring("doesn't exist")))
			}).Should(Succeed())
			Consistently(ctx, func() map[string]string {
				return states(ctx, namespace)
			}, "2s").Should(Equal(fixedStates))
			Expect(suite.API.Delete(ctx, plan)).To(Succeed())
			let := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
			Expect(client.IgnoreNotFound(suite.API.Patch(ctx, plan, let))).To(Succeed())
		})

	It("sets everything back under a policy that denies it, past an open breaker, and isn't fixed again until a "+
		"person says so", func(ctx context.Context) {
		fixed(ctx, v1alpha1.AdmissionDeny)
		awaitRefusal(ctx, fixture.ConfigMap(namespace, "violating"), ContainSubstring("state must be good"))
		_, _, code := evenkeel(ctx, "breaker", "open", "policy-"+namespace)
		Expect(code).To(Equal(0))
		DeferCleanup(func(ctx context.Context) { evenkeel(ctx, "breaker", "close", "policy-"+namespace) })

		out, _, code := evenkeel(ctx, "rollout", "undo", namespace, "--dry-run")
		Expect(code).To(Equal(0))
		Expect(out).To(ContainSubstring("4 of 4 targets would be undone"))
		out, _, code = evenkeel(ctx, "rollout", "undo", namespace, "--watch")
		Expect(code).To(Equal(0))
		Expect(out).To(And(ContainSubstring("is being undone by"), ContainSubstring("RolledBack"),
			ContainSubstring("4 reverted, 0 in conflict (Undone)")))
		Expect(states(ctx, namespace)).To(Equal(before))
		rem := suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseRolledBack)
		Expect(rem.AskedBy()).NotTo(BeNil())
		Expect(rem.Status.Reason).To(Equal(v1alpha1.ReasonUndone))
		suite.AwaitEvent(ctx, "RolledBack", rem.Name, ContainSubstring("4 writes undone"))

		By("the scan finds them again, and the planner doesn't")
		suite.AwaitScan(ctx, namespace, func(g Gomega, s *v1alpha1.ScanStatus) {
			g.Expect(s.Violating).To(BeEquivalentTo(4))
		})
		_, _, code = evenkeel(ctx, "breaker", "close", "policy-"+namespace)
		Expect(code).To(Equal(0))
		suite.AwaitEvent(ctx, "RemediationNotPlanned", namespace, ContainSubstring("evenkeel rollout retry "+rem.Name))
		Consistently(ctx, func() int {
			return len(suite.Plans(ctx, namespace))
		}).WithTimeout(4 * time.Second).Should(Equal(1))
		Expect(states(ctx, namespace)).To(Equal(before), "what was undone stays undone")
		out, _, _ = evenkeel(ctx, "rollout", "history", namespace)
		Expect(out).To(MatchRegexp(`%s +%s +\S+ +RolledBack +Undone .* 4 +0 +0 +4 +0 +- +%s`, rem.Name, namespace,
			rem.AskedBy().User))

		By("every view says the same: undone as a person wanted, and no failure")
		ready := meta.FindStatusCondition(rem.Status.Conditions, v1alpha1.ConditionReady)
		Expect(ready).To(HaveValue(And(HaveField("Status", metav1.ConditionTrue),
			HaveField("Reason", v1alpha1.ReasonUndone))))
		for view, says := range map[string]string{
			"rollout get " + rem.Name:             `(?s)RolledBack \(Undone\).*Undone \(4\)`,
			"rollout get":                         `RolledBack +Undone`,
			"rollout history " + namespace:        `RolledBack +Undone`,
			"explain cm/target-0 -n " + namespace: `undone at`,
			"breaker list":                        `policy-` + namespace + ` .*Closed`,
			"doctor":                              ``,
		} {
			out, stderr, _ := evenkeel(ctx, strings.Fields(view)...)
			Expect(out).To(MatchRegexp(says), view)
			for line := range strings.Lines(out + stderr) {
				if strings.Contains(line, namespace) {
					Expect(line).NotTo(MatchRegexp(`(?i)\bfailed\b`), view)
				}
			}
		}

		By("it can't be taken back, nor the name be changed")
		for _, word := range []string{`"Running"`, `"Aborted"`, "null"} {
			patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"desiredState":%s}}`, word))
			Expect(suite.API.Patch(ctx, rem.DeepCopy(), patch)).To(
				MatchError(ContainSubstring("an abort or an undo can't be taken back")))
		}
		forged := client.RawPatch(types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationRequests,
				`{"user":"mallory","action":"Undo","time":"2026-01-01T00:00:00Z"}`))
		asked := rem.DeepCopy()
		Expect(suite.API.Patch(ctx, asked, forged)).To(Succeed())
		Expect(v1alpha1.Requests(asked)).To(Equal(v1alpha1.Requests(rem)))
		_, stderr, code := evenkeel(ctx, "rollout", "undo", rem.Name)
		Expect(code).To(Equal(3))
		Expect(stderr).To(ContainSubstring("has been undone (RolledBack)"))

		By("a person says to try again")
		_, _, code = evenkeel(ctx, "rollout", "retry", namespace)
		Expect(code).To(Equal(0))
		Eventually(ctx, func() int { return len(suite.Plans(ctx, namespace)) }).Should(Equal(2))
		suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSucceeded)
	})

	It("keeps what somebody has changed since, and undoes an earlier plan though a later one succeeded",
		func(ctx context.Context) {
			first := fixed(ctx, v1alpha1.AdmissionWarn)
			edit(ctx, "target-0", `{"data":{"patched":"77"}}`)
			suite.Create(ctx, fixture.ConfigMap(namespace, "late"))
			Eventually(ctx, func() int { return len(suite.Plans(ctx, namespace)) }).Should(Equal(2))
			suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSucceeded)

			_, _, code := evenkeel(ctx, "rollout", "undo", first.Name, "--wait")
			Expect(code).To(Equal(1), "something couldn't be undone")
			Eventually(ctx, func(g Gomega) {
				g.Expect(suite.Get(ctx, first)).To(Succeed())
				g.Expect(first.Status.Phase).To(Equal(v1alpha1.PhaseRollbackIncomplete))
			}).Should(Succeed())
			Expect(first.Status.Counts).To(Equal(v1alpha1.TargetCounts{Reverted: 3, RevertConflict: 1}))
			now := states(ctx, namespace)
			Expect(now).To(And(HaveKeyWithValue("target-0", "good"), HaveKeyWithValue("target-1", before["target-1"]),
				HaveKeyWithValue("late", "good")))
			suite.AwaitEvent(ctx, "RemediationNotPlanned", namespace,
				ContainSubstring("evenkeel rollout retry "+first.Name))
			Consistently(ctx, func() int {
				return len(suite.Plans(ctx, namespace))
			}).WithTimeout(4 * time.Second).Should(Equal(2))
		})

	It("is refused without the record of what was written", func(ctx context.Context) {
		rem := fixed(ctx, v1alpha1.AdmissionWarn)
		Expect(suite.API.Delete(ctx,
			&v1alpha1.RemediationSlice{ObjectMeta: metav1.ObjectMeta{Name: rem.Spec.Plan.Slices[0]}})).To(Succeed())
		_, stderr, code := evenkeel(ctx, "rollout", "undo", rem.Name)
		Expect(code).To(Equal(3))
		Expect(stderr).To(ContainSubstring("its slice " + rem.Spec.Plan.Slices[0] + " is gone"))
	})
})
