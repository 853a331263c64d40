// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

var _ = Describe("An opt-out that is mistyped where no policy is", func() {
	It("is warned of at a Namespace, and what is right or was there isn't", func(ctx context.Context) {
		namespace := suite.Namespace(ctx, "slip")
		annotate := func(args ...string) string {
			_, warned, err := suite.Kubectl(ctx, "", append([]string{"annotate", "namespace", namespace}, args...)...)
			Expect(err).NotTo(HaveOccurred())
			return warned
		}
		// The API server takes up a policy of its own a moment after it was made.
		Eventually(ctx, func() string {
			annotate("evenkeel.dev/remediation-")
			return annotate("evenkeel.dev/remediation=disabled")
		}).Should(ContainSubstring(`must be "paused" to keep remediation off, and any other value has no effect: ` +
			`it is "disabled"`))
		Expect(annotate("team=shop")).To(BeEmpty())
		Expect(annotate("evenkeel.dev/remediation=paused", "--overwrite")).To(BeEmpty())
		Expect(annotate("evenkeel.dev/remediation-paused-until=2027-02-29T00:00:00Z")).
			To(ContainSubstring("and the opt-out goes on until that is corrected"))
		Expect(annotate("evenkeel.dev/remediation-until=2099-02-28T00:00:00Z")).
			To(ContainSubstring("did you mean the annotation evenkeel.dev/remediation-paused-until?"))
		Expect(annotate("evenkeel.dev/remediated=yes\nno")).To(ContainSubstring("did you mean"))
		policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
		policy.Name = "evenkeel-keys"
		Expect(suite.Get(ctx, policy)).To(Succeed())
		Expect(policy.Status.TypeChecking).To(Or(BeNil(), HaveField("ExpressionWarnings", BeEmpty())))
	})
})

var _ = Describe("What isn't ours to fix", func() {
	It("is reported and never written: opted out, owned by a controller, managed by a tool", func(ctx context.Context) {
		namespace, paused := suite.Namespace(ctx, "mine"), suite.Namespace(ctx, "paused")
		ns := &corev1.Namespace{}
		ns.Name = paused
		Expect(suite.Get(ctx, ns)).To(Succeed())
		before := ns.DeepCopy()
		fixture.Annotated(v1alpha1.AnnotationRemediation, v1alpha1.RemediationPaused)(ns)
		Expect(suite.API.Patch(ctx, ns, client.MergeFrom(before))).To(Succeed())

		owner := fixture.Deployment(namespace, "owner")
		suite.Create(ctx, owner)
		suite.Create(ctx, fixture.ConfigMaps(namespace, 2)...)
		suite.Create(ctx,
			fixture.ConfigMap(namespace, "opted-out",
				fixture.Annotated(v1alpha1.AnnotationRemediation, v1alpha1.RemediationPaused)),
			fixture.ConfigMap(paused, "in-paused-namespace"),
			fixture.ConfigMap(namespace, "owned",
				fixture.ControlledBy(fixture.Controller("apps/v1", "Deployment", owner))),
			fixture.ConfigMap(namespace, "managed",
				fixture.Annotated("argocd.argoproj.io/tracking-id", "shop:/ConfigMap:shop/web")),
		)
		policy := fixture.Policy(namespace, namespace, fixture.FixState, fixture.InNamespaces(paused),
			fixture.Remediated(v1alpha1.RemediationAutomatic))
		suite.CreatePolicy(ctx, policy)

		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
		Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 2, Skipped: 4}))
		for name, reason := range map[string]string{
			"opted-out": v1alpha1.ReasonOptOut, "in-paused-namespace": v1alpha1.ReasonOptOut,
			"owned": v1alpha1.ReasonOwned, "managed": v1alpha1.ReasonManaged,
		} {
			record := suite.RecordOf(ctx, rem, name)
			Expect(record.State).To(Equal(v1alpha1.TargetSkipped), name)
			Expect(record.Reason).To(Equal(reason), name)
			object := fixture.ConfigMap(record.Object.Namespace, name)
			Expect(suite.Get(ctx, object)).To(Succeed())
			Expect(object.Data).To(HaveKeyWithValue("state", "bad"), name)
		}
		suite.AwaitEvent(ctx, "ManagedByOther", "managed",
			And(ContainSubstring("Argo CD"), ContainSubstring("# /data/state")))
		Expect(patchedObjects(paused)).To(BeEmpty())
		Expect(patchedObjects(namespace)).To(HaveLen(2))
	})

	It("an object that opts out while the plan runs is skipped", func(ctx context.Context) {
		namespace := suite.Namespace(ctx, "optout")
		suite.Create(ctx, fixture.ConfigMaps(namespace, 3)...)
		breaker := &v1alpha1.RemediationBreaker{}
		breaker.Name = v1alpha1.PolicyBreakerPrefix + namespace
		breaker.Spec = v1alpha1.RemediationBreakerSpec{
			Scope: v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopePolicy, Policy: namespace},
			Mode:  v1alpha1.BreakerForcedOpen}
		suite.Create(ctx, breaker)
		policy := fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic))
		suite.CreatePolicy(ctx, policy)
		suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseHeld)

		changed := fixture.ConfigMap(namespace, "target-1")
		rig.Update(ctx, suite.API, changed, func() {
			fixture.Annotated(v1alpha1.AnnotationRemediation, v1alpha1.RemediationPaused)(changed)
		})
		Expect(suite.Get(ctx, breaker)).To(Succeed())
		forced := breaker.DeepCopy()
		breaker.Spec.Mode = ""
		Expect(client.IgnoreNotFound(suite.API.Patch(ctx, breaker, client.MergeFrom(forced)))).To(Succeed())

		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
		record := suite.RecordOf(ctx, rem, "target-1")
		Expect(record.State).To(Equal(v1alpha1.TargetSkipped))
		Expect(record.Reason).To(Equal(v1alpha1.ReasonOptOut))
		Expect(suite.Get(ctx, changed)).To(Succeed())
		Expect(changed.Data).To(HaveKeyWithValue("state", "bad"))
	})

	It("an opt-out with an end is over then, of an object and of a namespace, without another change",
		func(ctx context.Context) {
			namespace, paused := suite.Namespace(ctx, "until"), suite.Namespace(ctx, "until")
			end := time.Now().Add(20 * time.Second).UTC().Truncate(time.Second)
			until := func(o client.Object, text string) {
				fixture.Annotated(v1alpha1.AnnotationRemediation, v1alpha1.RemediationPaused)(o)
				fixture.Annotated(v1alpha1.AnnotationPausedUntil, text)(o)
			}
			ns := &corev1.Namespace{}
			ns.Name = paused
			Expect(suite.Get(ctx, ns)).To(Succeed())
			before := ns.DeepCopy()
			until(ns, end.Format(time.RFC3339))
			Expect(suite.API.Patch(ctx, ns, client.MergeFrom(before))).To(Succeed())
			object, unread := fixture.ConfigMap(namespace, "for-a-while"), fixture.ConfigMap(namespace, "unread")
			until(object, end.Format(time.RFC3339))
			until(unread, "the day after tomorrow")
			within := fixture.ConfigMap(paused, "in-a-paused-namespace")
			suite.Create(ctx, object, unread, within, fixture.ConfigMap(namespace, "other"))
			suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState, fixture.InNamespaces(paused),
				fixture.Remediated(v1alpha1.RemediationAutomatic)))

			out, _, code := evenkeel(ctx, "explain", "cm/for-a-while", "-n", namespace)
			Expect(code).To(Equal(0))
			Expect(out).To(ContainSubstring("opted out: the object has the annotation evenkeel.dev/remediation: " +
				"paused, until " + end.Format(time.RFC3339)))
			found, _ := doctor(ctx)
			Expect(found).To(ContainElement(
				finds("opt-outs", "warn", "ConfigMap "+namespace+"/unread opts out without an end")))

			for _, later := range []*corev1.ConfigMap{object, within} {
				Eventually(ctx, func(g Gomega) {
					g.Expect(suite.Get(ctx, later)).To(Succeed())
					g.Expect(later.Data).To(HaveKeyWithValue("state", "good"))
				}).Should(Succeed(), later.Name)
				// Who was there first is the end, not the write: the API server's clock is this machine's.
				managed := later.GetManagedFields()
				wrote := slices.IndexFunc(managed, func(m metav1.ManagedFieldsEntry) bool {
					return m.Manager == v1alpha1.FieldManager
				})
				Expect(wrote).NotTo(Equal(-1))
				Expect(managed[wrote].Time.Time).NotTo(BeTemporally("<", end), later.Name)
			}
			Expect(suite.Get(ctx, unread)).To(Succeed())
			Expect(unread.Data).To(HaveKeyWithValue("state", "bad"))
		})
})
