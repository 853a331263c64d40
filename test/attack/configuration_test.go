// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"context"
	"os/exec"
	"slices"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("The webhook configuration", func() {
	It("is written again when somebody deletes it, and refuses as before", func(ctx context.Context) {
		attempt("delete the webhook configuration, then create what a policy denies")
		namespace := suite.Namespace(ctx, "configuration")
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.DenyState("bad"),
			fixture.Enforced(v1alpha1.AdmissionDeny)))
		awaitRefusal(ctx, fixture.ConfigMap(namespace, "before"), ContainSubstring("refused by policy "+namespace))

		named := &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "evenkeel"}}
		Expect(suite.Get(ctx, named)).To(Succeed())
		Expect(suite.API.Delete(ctx, named)).To(Succeed())
		Eventually(ctx, func() error { return suite.Get(ctx, named) }).Should(Succeed())
		awaitRefusal(ctx, fixture.ConfigMap(namespace, "after"), ContainSubstring("refused by policy "+namespace))
	})

	It("keeps what a cloud's enforcer adds to narrow it, says so, and doesn't fight", func(ctx context.Context) {
		attempt("add a namespace selector to each webhook whenever it is missing, as the enforcers of clouds do")
		namespace := suite.Namespace(ctx, "narrowed")
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.DenyState("bad"),
			fixture.Enforced(v1alpha1.AdmissionDeny)))
		awaitRefusal(ctx, fixture.ConfigMap(namespace, "before"), ContainSubstring("refused by policy "+namespace))
		addition := metav1.LabelSelectorRequirement{Key: "control-plane", Operator: metav1.LabelSelectorOpDoesNotExist}
		written := enforcer(ctx, func(w *admissionregistrationv1.ValidatingWebhook) bool {
			if slices.ContainsFunc(w.NamespaceSelector.MatchExpressions, func(e metav1.LabelSelectorRequirement) bool {
				return e.Key == addition.Key
			}) {
				return false
			}
			w.NamespaceSelector.MatchExpressions = append(w.NamespaceSelector.MatchExpressions, addition)
			return true
		})

		Eventually(ctx, func(g Gomega) {
			list := &eventsv1.EventList{}
			g.Expect(suite.API.List(ctx, list)).To(Succeed())
			g.Expect(list.Items).To(
				ContainElement(And(HaveField("Reason", "WebhookNarrowed"),
					HaveField("Note", ContainSubstring("!control-plane")))))
		}).Should(Succeed())
		out, _ := exec.CommandContext(ctx, suite.Binary(), "doctor", "-o", "json", "--kubeconfig",
			suite.Kubeconfig).Output()
		Expect(string(out)).To(ContainSubstring("somebody has narrowed an entry"))

		By("changing the policies, which is written and keeps the addition")
		second := suite.Namespace(ctx, "narrowed-too")
		suite.CreatePolicy(ctx, fixture.Policy(second, second, fixture.DenyState("bad"),
			fixture.Enforced(v1alpha1.AdmissionDeny),
			fixture.OnFailure(v1alpha1.FailurePolicyFail)))
		awaitRefusal(ctx, fixture.ConfigMap(second, "after"), ContainSubstring("refused by policy "+second))
		config := &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "evenkeel"}}
		Eventually(ctx, func(g Gomega) {
			g.Expect(suite.Get(ctx, config)).To(Succeed())
			for _, w := range config.Webhooks {
				g.Expect(w.NamespaceSelector.MatchExpressions).To(ContainElement(addition), w.Name)
			}
		}).Should(Succeed())
		// Once for what was there, and once for the entry that the second policy brought.
		Consistently(ctx, written.Load, "3s").Should(BeNumerically("<=", 3), "the two fight")
	})

	It("is restored ever more slowly when somebody keeps changing it otherwise", func(ctx context.Context) {
		attempt("set failurePolicy to Ignore again and again, as fast as it is restored")
		before := generation(ctx)
		written := enforcer(ctx, func(w *admissionregistrationv1.ValidatingWebhook) bool {
			if *w.FailurePolicy == admissionregistrationv1.Ignore {
				return false
			}
			*w.FailurePolicy = admissionregistrationv1.Ignore
			return true
		})
		Eventually(written.Load).Should(BeNumerically(">=", 3), "it is restored twice at least")
		Consistently(ctx, written.Load).WithTimeout(3 * time.Second).Should(BeNumerically("<=", 6))
		Expect(generation(ctx) - before).To(BeNumerically("<=", 14))
	})
})

// enforcer changes each webhook whenever it isn't as somebody else wants it, until
// the spec ends, and counts its writes.
func enforcer(ctx context.Context, change func(*admissionregistrationv1.ValidatingWebhook) bool) *atomic.Int64 {
	GinkgoHelper()
	written := &atomic.Int64{}
	watching, stop := context.WithCancel(ctx)
	changes, err := suite.API.Watch(watching, &admissionregistrationv1.ValidatingWebhookConfigurationList{})
	Expect(err).NotTo(HaveOccurred())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range changes.ResultChan() {
			config, ok := event.Object.(*admissionregistrationv1.ValidatingWebhookConfiguration)
			if !ok || config.Name != "evenkeel" || event.Type == watch.Deleted {
				continue
			}
			differs := false
			for i := range config.Webhooks {
				differs = change(&config.Webhooks[i]) || differs
			}
			if differs && suite.API.Update(watching, config) == nil {
				written.Add(1)
			}
		}
	}()
	DeferCleanup(func(ctx context.Context) {
		changes.Stop()
		stop()
		<-ended
		// The next specs begin with a configuration of the manager's own, at once.
		Expect(suite.API.Delete(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "evenkeel"}})).To(Succeed())
		Expect(manager.Stop()).To(Succeed())
		Expect(manager.Start(ctx)).To(Succeed())
		suite.AwaitAdmission(ctx)
	})
	return written
}

func generation(ctx context.Context) int64 {
	GinkgoHelper()
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "evenkeel"}}
	Expect(suite.Get(ctx, config)).To(Succeed())
	return config.Generation
}
