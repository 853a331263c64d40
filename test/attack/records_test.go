// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/seal"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

// forgery is a plan that says that it has changed a Deployment's image and ended
// well; its undoing would set another image.
func forgery(name, policy string, victim *appsv1.Deployment) (*v1alpha1.Remediation, *v1alpha1.RemediationSlice) {
	rem := &v1alpha1.Remediation{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.LabelPolicy: policy}},
		Spec: v1alpha1.RemediationSpec{
			Plan: v1alpha1.RemediationPlan{
				Policy: v1alpha1.PlannedPolicy{Name: policy, UID: "forged", Revision: "forged"}, Hash: "forged",
				Targets: 1, Waves: []int32{1}, Slices: []string{name + "-0"}}}}
	rem.Spec.Plan.Strategy.Mode = v1alpha1.RemediationAutomatic
	slice := &v1alpha1.RemediationSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: name + "-0", Labels: map[string]string{
				v1alpha1.LabelPolicy: policy, v1alpha1.LabelRemediation: name}},
		Remediation: name, Targets: []v1alpha1.Target{{Object: v1alpha1.ObjectReference{
			APIVersion: "apps/v1", Kind: "Deployment", Namespace: victim.Namespace, Name: victim.Name,
			UID: string(victim.UID)}}}}
	return rem, slice
}

// claims are the records of a forged slice.
func claims(victim *appsv1.Deployment) []v1alpha1.TargetRecord {
	return []v1alpha1.TargetRecord{{State: v1alpha1.TargetDone, Write: &v1alpha1.WriteRecord{
		UID: string(victim.UID), ResourceVersion: "1", Action: v1alpha1.ActionPatch,
		Fields: []v1alpha1.FieldChange{{Path: "/spec/template/spec/containers/0/image",
			Before: &apiextensionsv1.JSON{Raw: []byte(`"evil.example.com/shell:1"`)},
			After:  &apiextensionsv1.JSON{Raw: []byte(`"example.com/web:1"`)}}},
	}}}
}

var _ = Describe("A user who may write plans and slices, and no Deployment", func() {
	var (
		namespace string
		forger    client.Client
		victim    *appsv1.Deployment
	)
	BeforeEach(func(ctx context.Context) {
		namespace = suite.Namespace(ctx, "forger")
		forger = userOf(ctx, "forger-in-"+namespace, verbOn("undo", "clusterregopolicies"),
			verbOn("pause", "clusterregopolicies"),
			rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupVersion.Group}, Verbs: []string{"*"},
				Resources: []string{"remediations", "remediations/status", "remediationslices", "remediationbreakers",
					"remediationbreakers/status"}})
		victim = fixture.Deployment(namespace, "web")
		suite.Create(ctx, victim)
	})

	It("can't forge a plan, nor change what one has recorded", func(ctx context.Context) {
		attempt("create a finished plan and its records, or edit those of a genuine one")
		rem, slice := forgery(namespace, namespace, victim)
		for _, obj := range []client.Object{rem, slice} {
			Expect(forger.Create(ctx, obj)).To(MatchError(ContainSubstring("made by the manager alone")))
		}

		suite.Create(ctx, fixture.ConfigMap(namespace, "target"))
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic)))
		genuine := suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSucceeded)
		merge := func(obj client.Object, patch string) error {
			return forger.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(patch)))
		}
		Expect(merge(genuine.DeepCopy(), `{"metadata":{"annotations":{"evenkeel.dev/seal":"x"}}}`)).To(
			MatchError(ContainSubstring("written by the manager alone")))
		records := &v1alpha1.RemediationSlice{ObjectMeta: metav1.ObjectMeta{Name: genuine.Spec.Plan.Slices[0]}}
		Expect(suite.Get(ctx, records)).To(Succeed())
		Expect(forger.Status().Patch(ctx, genuine.DeepCopy(),
			client.RawPatch(types.MergePatchType, []byte(`{"status":{"wave":7}}`)))).
			To(MatchError(ContainSubstring("its status is written by the manager alone")))
		for _, edit := range []string{`{"records":[]}`, `{"records":null}`, `{"sequence":1000}`, `{"seal":"x"}`} {
			Expect(merge(records.DeepCopy(), edit)).To(
				MatchError(ContainSubstring("records of a plan are written by the manager alone")), edit)
		}
		Expect(merge(genuine.DeepCopy(), `{"spec":{"desiredState":"Paused"}}`)).To(
			Succeed(), "what people may say, they may")
	})

	It("can't have the manager undo what it never did, though admission was away meanwhile", func(ctx context.Context) {
		attempt("forge a finished plan while nobody judges it, and ask to undo it")
		// What was there before the key of the records is taken over. The leader makes it when it starts.
		key := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: rig.SystemNamespace, Name: seal.SecretName}}
		Eventually(ctx, func(g Gomega) {
			g.Expect(suite.Get(ctx, key)).To(Succeed())
			g.Expect(key.Annotations).To(HaveKeyWithValue("evenkeel.dev/adopted", "true"))
		}).Should(Succeed())
		away := suite.AsManager() // whom admission doesn't ask about
		rem, slice := forgery(namespace, namespace, victim)
		suite.CleanUp(namespace)
		Expect(away.Create(ctx, slice)).To(Succeed())
		Expect(away.Create(ctx, rem)).To(Succeed())
		rig.Update(ctx, away, slice, func() { slice.Records = claims(victim) })
		rig.UpdateStatus(ctx, away, rem, func() { rem.Status.Phase = v1alpha1.PhaseSucceeded })

		Expect(forger.Patch(ctx, rem.DeepCopy(),
			client.RawPatch(types.MergePatchType, []byte(`{"spec":{"desiredState":"Undone"}}`)))).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(suite.Get(ctx, rem)).To(Succeed())
			stalled := meta.FindStatusCondition(rem.Status.Conditions, v1alpha1.ConditionStalled)
			g.Expect(stalled).NotTo(BeNil())
			g.Expect(stalled.Reason).To(Equal(v1alpha1.ReasonUnproven))
		}).Should(Succeed())
		unchanged(ctx, victim)
		Expect(suite.API.Delete(ctx, rem)).To(Succeed())
		Eventually(ctx, func() bool {
			return apierrors.IsNotFound(suite.Get(ctx, rem))
		}).Should(BeTrue(), "it can be deleted")
		unchanged(ctx, victim)
	})

	It("can't bring back an earlier genuine record, though admission was away meanwhile", func(ctx context.Context) {
		attempt("keep a genuine record of a plan, bring it back once the plan has gone on, and ask to undo it")
		suite.Create(ctx, fixture.ConfigMap(namespace, "target"))
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic)))
		rem := suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSucceeded)
		records := &v1alpha1.RemediationSlice{ObjectMeta: metav1.ObjectMeta{Name: rem.Spec.Plan.Slices[0]}}
		Expect(suite.Get(ctx, records)).To(Succeed())
		earlier := records.DeepCopy()
		Expect(suite.API.Patch(ctx, rem.DeepCopy(),
			client.RawPatch(types.MergePatchType, []byte(`{"spec":{"desiredState":"Undone"}}`)))).To(Succeed())
		suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseRolledBack)
		Expect(suite.Get(ctx, records)).To(Succeed())
		Expect(records.Sequence).To(BeNumerically(">", earlier.Sequence))
		fixed := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "target"}}
		Expect(suite.API.Patch(ctx, fixed, client.RawPatch(types.MergePatchType, []byte(`{"data":{"state":"good"}}`)))).
			To(Succeed())

		away := suite.AsManager() // whom admission doesn't ask about
		rig.Update(ctx, away, records, func() {
			earlier.ResourceVersion = records.ResourceVersion
			earlier.DeepCopyInto(records)
		})
		plan := rem.DeepCopy() // as it was when it had succeeded
		rig.UpdateStatus(ctx, away, plan, func() { plan.Status = *rem.Status.DeepCopy() })
		Eventually(ctx, func(g Gomega) {
			g.Expect(suite.Get(ctx, plan)).To(Succeed())
			stalled := meta.FindStatusCondition(plan.Status.Conditions, v1alpha1.ConditionStalled)
			g.Expect(stalled).NotTo(BeNil())
			g.Expect(stalled.Reason).To(Equal(v1alpha1.ReasonUnproven))
			g.Expect(stalled.Message).To(ContainSubstring("somebody has brought an earlier state back"))
		}).Should(Succeed())
		Expect(suite.Get(ctx, fixed)).To(Succeed())
		Expect(fixed.Data).To(HaveKeyWithValue("state", "good"), "it isn't undone once more")
		Expect(suite.API.Delete(ctx, plan)).To(Succeed())
		Eventually(ctx, func() bool {
			return apierrors.IsNotFound(suite.Get(ctx, plan))
		}).Should(BeTrue(), "it can be deleted")
	})

	It("can't close a breaker by deleting it, nor by writing its status", func(ctx context.Context) {
		attempt("delete a breaker that is open, or that a person holds open, so that it comes back closed")
		cb := &v1alpha1.RemediationBreaker{
			ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.NamespaceBreakerPrefix + namespace},
			Spec: v1alpha1.RemediationBreakerSpec{
				Scope: v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopeNamespace, Namespace: namespace},
				Mode:  v1alpha1.BreakerForcedOpen}}
		suite.Create(ctx, cb)
		DeferCleanup(func(ctx context.Context) { suite.RemoveBreaker(ctx, cb.Name) })
		Expect(forger.Delete(ctx, cb)).To(MatchError(ContainSubstring("a person holds it open")))
		Expect(forger.Status().Patch(
			ctx, cb.DeepCopy(), client.RawPatch(
				types.MergePatchType, []byte(`{"status":{"state":"Closed","openings":7}}`)))).
			To(MatchError(ContainSubstring("its status is written by the manager alone")))
		Expect(suite.Get(ctx, cb)).To(Succeed())
	})
})
