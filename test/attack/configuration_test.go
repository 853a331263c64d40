package attack_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("The webhook configuration", func() {
	It("is written again when somebody deletes it, and refuses as before", func(ctx context.Context) {
		attempt("delete the webhook configuration, then create what a policy denies")
		namespace := suite.Namespace(ctx, "configuration")
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.DenyState("bad"), fixture.Enforced(v1alpha1.EnforcementDeny)))
		awaitRefusal(ctx, fixture.ConfigMap(namespace, "before"), ContainSubstring("refused by policy "+namespace))

		named := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "evenkeel"}}
		Expect(suite.Get(ctx, named)).To(Succeed())
		Expect(suite.API.Delete(ctx, named)).To(Succeed())
		Eventually(ctx, func() error { return suite.Get(ctx, named) }).Should(Succeed())
		awaitRefusal(ctx, fixture.ConfigMap(namespace, "after"), ContainSubstring("refused by policy "+namespace))
	})
})
