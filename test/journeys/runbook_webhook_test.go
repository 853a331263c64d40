// SPDX-License-Identifier: Apache-2.0

package journeys_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// narrowed is a webhook configuration to which a cloud has added what every cloud adds.
func narrowed(ctx context.Context) {
	GinkgoHelper()
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "evenkeel"}}
	Eventually(ctx, func(g Gomega) {
		g.Expect(suite.Get(ctx, config)).To(Succeed())
		before, entry := config.DeepCopy(), &config.Webhooks[0]
		if entry.NamespaceSelector == nil {
			entry.NamespaceSelector = &metav1.LabelSelector{}
		}
		entry.NamespaceSelector.MatchExpressions = append(entry.NamespaceSelector.MatchExpressions,
			metav1.LabelSelectorRequirement{Key: "control-plane", Operator: metav1.LabelSelectorOpDoesNotExist})
		g.Expect(suite.API.Patch(ctx, config, client.MergeFrom(before))).To(Succeed())
	}).Should(Succeed())
}

// unguarded is a cluster in which the binding of one of the policies that guard requests is gone.
func unguarded(ctx context.Context) {
	GinkgoHelper()
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "evenkeel-overrides"}}
	Expect(suite.Get(ctx, binding)).To(Succeed())
	Expect(suite.API.Delete(ctx, binding)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		suite.Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: binding.Name}, Spec: binding.Spec})
	})
}

// contested is a webhook configuration that somebody else changes again and again, as soon as it is restored.
func contested() {
	GinkgoHelper()
	meanwhile, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	DeferCleanup(func() {
		stop()
		<-stopped
	})
	go func() {
		defer close(stopped)
		const theirs = int32(7)
		// It ends by being stopped; what couldn't be written is tried again.
		_ = wait.PollUntilContextCancel(meanwhile, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			config := &admissionregistrationv1.ValidatingWebhookConfiguration{
				ObjectMeta: metav1.ObjectMeta{Name: "evenkeel"}}
			if suite.Get(ctx, config) != nil || len(config.Webhooks) == 0 ||
				*config.Webhooks[0].TimeoutSeconds == theirs {
				return false, nil
			}
			before := config.DeepCopy()
			*config.Webhooks[0].TimeoutSeconds = theirs
			_ = suite.API.Patch(ctx, config, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}),
				client.FieldOwner("the-other-writer"))
			return false, nil
		})
	}()
}
