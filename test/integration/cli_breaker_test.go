// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

var _ = Describe("evenkeel breaker open", func() {
	It("holds the breaker of a namespace open that nothing has failed in yet", func(ctx context.Context) {
		namespace := suite.Namespace(ctx, "quiet")
		name := v1alpha1.NamespaceBreakerPrefix + namespace
		out, errs, code := evenkeel(ctx, "breaker", "open", name)
		Expect(code).To(BeZero(), "%s", errs)
		Expect(out).To(ContainSubstring(name + " is held open"))
		cb := &v1alpha1.RemediationBreaker{}
		Expect(suite.API.Get(ctx, client.ObjectKey{Name: name}, cb)).To(Succeed())
		Expect(cb.Spec.Scope).To(
			Equal(v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopeNamespace, Namespace: namespace}))
		out, _, _ = evenkeel(ctx, "breaker", "list")
		Expect(out).To(MatchRegexp(name + ` +Namespace +Open`))

		_, errs, code = evenkeel(ctx, "breaker", "close", name)
		Expect(code).To(BeZero(), "%s", errs)
	})

	It("makes none for a namespace or a policy that isn't there", func(ctx context.Context) {
		for _, name := range []string{"namespace-nowhere", "policy-nothing"} {
			_, errs, code := evenkeel(ctx, "breaker", "open", name)
			Expect(code).To(Equal(3))
			Expect(errs).To(ContainSubstring("there is no circuit breaker " + name))
			Expect(suite.API.Get(ctx, client.ObjectKey{Name: name}, &v1alpha1.RemediationBreaker{})).NotTo(Succeed())
		}
		_, errs, code := evenkeel(ctx, "breaker", "open", "shop")
		Expect(code).To(Equal(2))
		Expect(errs).To(ContainSubstring("give global, policy-NAME or namespace-NAME"))
	})
})
