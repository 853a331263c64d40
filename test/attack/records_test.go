// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// forgery is a plan that says that it has changed a Deployment's image and ended
// well; its undoing would set another image.
func forgery(name, policy string, victim *appsv1.Deployment) (*v1alpha1.Remediation, *v1alpha1.RemediationSlice) {
	rem := &v1alpha1.Remediation{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.LabelPolicy: policy}},
		Spec: v1alpha1.RemediationSpec{
			Plan: v1alpha1.RemediationPlan{
				Policy: v1alpha1.PlannedPolicy{Name: policy, UID: "forged", Revision: "forged"}, Hash: "forged",
				Targets: 1, Waves: fixture.PlannedWaves(1), Slices: []string{name + "-0"}}}}
	rem.Spec.Plan.Rollout.Mode = v1alpha1.RemediationAutomatic
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

// writer may do all that Kubernetes itself has verbs for with plans, slices and breakers.
func writer() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupVersion.Group},
		Verbs: []string{"get", "list", "create", "update", "patch", "delete", "deletecollection"},
		Resources: []string{"remediations", "remediations/status", "remediations/scale", "remediationslices",
			"remediationbreakers", "remediationbreakers/status"}}
}

// apply applies an object on the server's side, over whoever manages its fields.
func apply(ctx context.Context, as client.Client, obj client.Object) error {
	applied := obj.DeepCopyObject().(client.Object)
	applied.GetObjectKind().SetGroupVersionKind(gvkOf(obj))
	applied.SetManagedFields(nil)
	applied.SetResourceVersion("")
	//nolint:staticcheck // A typed object has no apply configuration.
	return as.Patch(ctx, applied, client.Apply, client.FieldOwner("attacker"), client.ForceOwnership)
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
			verbOn("pause", "clusterregopolicies"), writer())
		victim = fixture.Deployment(namespace, "web")
		suite.Create(ctx, victim)
	})

	// rolledOut is a plan that has succeeded, and its slice.
	rolledOut := func(ctx context.Context) (*v1alpha1.Remediation, *v1alpha1.RemediationSlice) {
		GinkgoHelper()
		suite.Create(ctx, fixture.ConfigMap(namespace, "target"))
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic)))
		rem := suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSucceeded)
		slice := &v1alpha1.RemediationSlice{ObjectMeta: metav1.ObjectMeta{Name: rem.Spec.Plan.Slices[0]}}
		Expect(suite.Get(ctx, slice)).To(Succeed())
		return rem, slice
	}
	refused := MatchError(ContainSubstring("written by the manager alone"))

	It("can't forge a plan, nor change what one has recorded, while admission is away either",
		func(ctx context.Context) {
			attempt("create a finished plan and its records, or edit those of a genuine one, in any way")
			genuine, records := rolledOut(ctx)
			Expect(manager.Kill()).To(Succeed())
			DeferCleanup(func(ctx context.Context) {
				Expect(manager.Start(ctx)).To(Succeed())
				suite.AwaitAdmission(ctx)
			})
			unhook(ctx)
			// The manager may have written them once more before it was killed: an update of an older
			// version is a conflict before any policy is asked.
			Expect(suite.Get(ctx, genuine)).To(Succeed())
			Expect(suite.Get(ctx, records)).To(Succeed())

			rem, slice := forgery(namespace, namespace, victim)
			slice.Records = claims(victim)
			for _, obj := range []client.Object{rem, slice} {
				Expect(forger.Create(ctx, obj.DeepCopyObject().(client.Object))).To(
					MatchError(ContainSubstring("made by the manager alone")))
				Expect(apply(ctx, forger, obj)).To(MatchError(ContainSubstring("made by the manager alone")))
			}
			for _, edit := range []string{`{"records":[]}`, `{"records":null}`, `{"records":[{"state":"Pending"}]}`,
				`{"progress":{"targets":7}}`, `{"metadata":{"labels":{"evenkeel.dev/remediation-name":"other"}}}`} {
				Expect(merge(ctx, forger, records, edit)).To(refused, edit)
			}
			claimed := records.DeepCopy()
			claimed.Records = claims(victim)
			Expect(forger.Update(ctx, claimed)).To(refused)
			Expect(apply(ctx, forger, claimed)).To(refused)
			Expect(merge(ctx, forger, genuine, `{"metadata":{"labels":{"evenkeel.dev/policy":"other"}}}`)).To(refused)
			Expect(forger.Status().Patch(ctx, genuine.DeepCopy(),
				client.RawPatch(types.MergePatchType, []byte(`{"status":{"wave":7}}`)))).To(refused)
			ended := genuine.DeepCopy()
			ended.Status.Phase = v1alpha1.PhaseRolledBack
			Expect(forger.Status().Update(ctx, ended)).To(refused)
			scale := client.WithSubResourceBody(
				&autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: genuine.Name}})
			Expect(forger.SubResource("scale").Update(ctx, genuine.DeepCopy(), scale)).NotTo(Succeed())
			Eventually(ctx, func() error {
				return merge(ctx, forger, genuine, `{"metadata":{"labels":{"theirs":"x"}}}`)
			}).Should(Succeed(), "once the API server has seen that the webhooks are gone")
		})

	It("can't have a plan's records go away before it, now or when the garbage collector looks",
		func(ctx context.Context) {
			attempt("delete a slice, keep it by a finalizer, or give it an owner that isn't there")
			genuine, records := rolledOut(ctx)
			stays := MatchError(ContainSubstring("it goes with its plan"))
			Expect(forger.Delete(ctx, records)).To(stays)
			Expect(forger.DeleteAllOf(ctx, &v1alpha1.RemediationSlice{},
				client.MatchingLabels{v1alpha1.LabelRemediation: genuine.Name})).To(stays)
			for _, edit := range []string{keptBy, ownedBy, `{"metadata":{"ownerReferences":null}}`} {
				Expect(merge(ctx, forger, records, edit)).To(stays, edit)
			}
			needs := MatchError(ContainSubstring("that needs the verb abort"))
			Expect(merge(ctx, forger, genuine, keptBy)).To(needs, "though it may write the status")
			Expect(merge(ctx, forger, genuine, ownedBy)).To(needs)

			By("deleting the plan, with which the garbage collector takes them")
			Expect(suite.API.Delete(ctx, genuine)).To(Succeed())
			Eventually(ctx, func() bool {
				return apierrors.IsNotFound(suite.Get(ctx, records))
			}).Should(BeTrue())
		})

	It("restores a backup with the verb for it alone, and its plan is undone by what it holds",
		func(ctx context.Context) {
			attempt("bring a slice back that a person deleted, without the verb restore and with it")
			genuine, records := rolledOut(ctx)
			backup := records.DeepCopy()
			backup.UID, backup.ResourceVersion, backup.ManagedFields = "", "", nil
			Expect(suite.API.Delete(ctx, records)).To(Succeed(), "an administrator has every verb")
			Expect(forger.Create(ctx, backup.DeepCopy())).To(
				MatchError(ContainSubstring("needs the verb restore on remediationslices")))
			restorer := userOf(ctx, "restorer-in-"+namespace, writer(), verbOn("restore", "remediationslices"))
			forged, _ := forgery(namespace+"-forged", namespace, victim)
			Expect(restorer.Create(ctx, forged)).To(MatchError(ContainSubstring("made by the manager alone")),
				"the verb is for one kind")
			Expect(restorer.Create(ctx, backup)).To(Succeed())

			Expect(merge(ctx, forger, genuine, `{"spec":{"desiredState":"Undone"}}`)).To(Succeed())
			suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseRolledBack)
			unchanged(ctx, victim)
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
