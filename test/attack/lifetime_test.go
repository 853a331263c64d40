// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

const (
	keptBy  = `{"metadata":{"finalizers":["example.com/keep"]}}`
	letGo   = `{"metadata":{"finalizers":null}}`
	ownedBy = `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"gone",` +
		`"uid":"5f9d3c1e-0000-4000-8000-000000000000"}]}}`
)

var _ = Describe("A user who may write breakers and plans, and has no verb on them", func() {
	It("neither keeps a deleted breaker until it is held open, nor has it collected",
		func(ctx context.Context) {
			attempt("delete a closed breaker, keep it by a finalizer until it is held open, and take the finalizer off")
			namespace := suite.Namespace(ctx, "lifetime")
			cb := breakerIn(ctx, namespace)
			as := editor(ctx, "editor-of-"+namespace)
			needs := MatchError(ContainSubstring("that needs the verb reset on remediationbreakers/" + cb.Name))
			Expect(merge(ctx, as, cb, keptBy)).To(needs)
			Expect(merge(ctx, as, cb, ownedBy)).To(needs)
			for _, later := range []metav1.DeletionPropagation{metav1.DeletePropagationForeground,
				metav1.DeletePropagationOrphan} {
				Expect(as.Delete(ctx, cb, client.PropagationPolicy(later))).To(needs, "the garbage collector keeps it")
			}

			Expect(merge(ctx, suite.API, cb, keptBy)).To(Succeed(), "an administrator's tool keeps it")
			DeferCleanup(func(ctx context.Context) { Expect(merge(ctx, suite.API, cb, letGo)).To(Succeed()) })
			Expect(as.Delete(ctx, cb)).To(Succeed(), "it is closed")
			Expect(merge(ctx, suite.API, cb, `{"spec":{"mode":"ForcedOpen"}}`)).To(Succeed())
			Expect(merge(ctx, as, cb, letGo)).To(needs)
			Expect(suite.API.Get(ctx, client.ObjectKeyFromObject(cb), cb)).To(Succeed(), "it holds")
		})

	It("doesn't have a plan go away with its records, now or when somebody deletes it", func(ctx context.Context) {
		attempt("take off a plan's finalizer, or give it an owner that isn't there")
		namespace := suite.Namespace(ctx, "lifetime")
		suite.Create(ctx, fixture.ConfigMap(namespace, "target"))
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationManual)))
		rem := suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseAwaitingApproval)
		as := editor(ctx, "editor-of-"+namespace)
		needs := MatchError(ContainSubstring("that needs the verb abort on clusterregopolicies/" + namespace))
		Expect(merge(ctx, as, rem, letGo)).To(needs)
		Expect(merge(ctx, as, rem, ownedBy)).To(needs)
		Expect(suite.API.Delete(ctx, rem, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(
			MatchError(ContainSubstring("would lose its records")), "by anyone")
		Expect(merge(ctx, suite.API, rem, `{"spec":{"desiredState":"Aborted"}}`)).To(Succeed())
		rem = suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseAborted)
		Expect(merge(ctx, as, rem, ownedBy)).To(needs, "of one that has ended")

		Expect(merge(ctx, suite.API, rem, keptBy)).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			Expect(client.IgnoreNotFound(merge(ctx, suite.API, rem, letGo))).To(Succeed())
		})
		Expect(suite.API.Delete(ctx, rem)).To(Succeed())
		Expect(merge(ctx, as, rem, letGo)).To(needs, "of one that is being deleted")
	})
})
