// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

var _ = Describe("An object whose kind the API server doesn't serve any more", Ordered, func() {
	const group = "served.example.com"
	var crd *apiextensionsv1.CustomResourceDefinition
	serve := func(ctx context.Context, served bool) {
		GinkgoHelper()
		rig.Update(ctx, suite.API, crd, func() { crd.Spec.Versions[0].Served = served })
	}
	widget := func(namespace string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1", "kind": "Widget",
			"metadata": map[string]any{"name": "one", "namespace": namespace}, "spec": map[string]any{"size": "small"}}}
	}
	// written makes a widget and a policy, and waits until the widget was written.
	written := func(ctx context.Context, soak, deadline time.Duration) (
		*v1alpha1.ClusterRegoPolicy, *unstructured.Unstructured) {
		GinkgoHelper()
		namespace := suite.Namespace(ctx, "served")
		grantVerbs(ctx, namespace+"-widgets", group, "widgets", "get", "list", "watch", "patch")
		one := widget(namespace)
		Eventually(ctx, func() error { return suite.API.Create(ctx, one) }).Should(Succeed())
		rego := strings.ReplaceAll(smallWidgets, "fixture.widgets", "fixture."+strings.ReplaceAll(namespace, "-", "_"))
		policy := fixture.Policy(namespace, namespace, rego, fixture.Unselected, fixture.Kinds(group, "Widget"),
			fixture.Remediated(v1alpha1.RemediationAutomatic, fixture.Deadline(deadline),
				func(s *fixture.Rollout) {
					s.Health = &v1alpha1.HealthStrategy{Unknown: v1alpha1.UnknownHealthAllow}
					fixture.Soak(soak)(s)
				}))
		suite.CreatePolicy(ctx, policy)
		suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSoaking)
		Expect(suite.Get(ctx, one)).To(Succeed())
		Expect(one.Object["spec"]).To(HaveKeyWithValue("size", "large"))
		return policy, one
	}
	BeforeAll(func(ctx context.Context) {
		crd = widgets()
		crd.Name, crd.Spec.Group = "widgets."+group, group
		suite.Create(ctx, crd)
		DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, crd)).To(Succeed()) })
	})

	It("is waited for while its definition is replaced, and neither gone nor failed", func(ctx context.Context) {
		policy, one := written(ctx, 12*time.Second, 40*time.Second)
		serve(ctx, false)
		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseVerifying)
		Expect(rem.Status.Message).To(ContainSubstring("couldn't be read"))
		serve(ctx, true)
		rem = suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
		Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 1}))
		Expect(succeeded(one.GetNamespace(), "PATCH", "widgets", "")).To(Equal(1))
	})

	It("ends the rollback of what is uninstalled for good, which says what wasn't undone", func(ctx context.Context) {
		policy, one := written(ctx, time.Minute, 2*time.Second)
		serve(ctx, false)
		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseRollbackIncomplete)
		Expect(rem.Status.Reason).To(Equal(v1alpha1.ReasonNoAnswer))
		Expect(rem.Status.Message).To(ContainSubstring("doesn't serve their kind any more"))
		Expect(rem.Status.HeldTime).NotTo(BeNil())
		record := suite.RecordOf(ctx, rem, "one")
		Expect(record.State).To(Equal(v1alpha1.TargetRevertConflict))
		Expect(record.Reason).To(Equal(v1alpha1.ReasonNotServed))
		suite.AwaitEvent(ctx, "RollbackIncomplete", rem.Name, ContainSubstring("couldn't be"))
		breaker := &v1alpha1.RemediationBreaker{
			ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyBreakerPrefix + policy.Name}}
		Expect(suite.Get(ctx, breaker)).To(Succeed())
		Expect(breaker.Status.State).To(Equal(v1alpha1.BreakerClosed))
		serve(ctx, true)
		Eventually(ctx, func() error { return suite.Get(ctx, one) }).Should(Succeed())
		Expect(one.Object["spec"]).To(HaveKeyWithValue("size", "large"))
	})
})
