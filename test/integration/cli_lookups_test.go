// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("A policy that looks other objects up and isn't applied yet", func() {
	It("is scanned, planned and tried by what there is in the whole cluster", func(ctx context.Context) {
		namespace, other := suite.Namespace(ctx, "cli-lookups"), suite.Namespace(ctx, "cli-looked-up")
		mine, free, theirs := fixture.ConfigMap(namespace, "mine"), fixture.ConfigMap(namespace, "free"),
			fixture.ConfigMap(other, "theirs")
		mine.Data["state"], free.Data["state"], theirs.Data["state"] = namespace, namespace+"-free", namespace
		suite.Create(ctx, mine, free, theirs)
		policy := fixture.Policy(namespace, namespace, ownState, referring(v1alpha1.ReferencedKind{Kind: "ConfigMap"}))
		file := fileOf(policy)

		// found are the objects that each command finds, in the order of scan, plan and try.
		found := func() []int {
			out, errs, code := evenkeel(ctx, "scan", "-p", file, "-n", namespace, "-o", "json")
			Expect(code).To(BeElementOf(0, 1), errs)
			var report struct {
				Results []struct{ Violations []struct{ Message string } }
			}
			Expect(json.Unmarshal([]byte(out), &report)).To(Succeed(), errs)
			violating := 0
			for _, r := range report.Results {
				for _, v := range r.Violations {
					violating++
					Expect(v.Message).To(Equal(other + "/theirs has the state " + namespace + " already"))
				}
			}
			plan, _ := previewed(ctx, policy.Name, "-p", file)
			out, errs, code = evenkeel(ctx, "policy", "try", file, "-n", namespace, "-o", "json", "--fail-on", "never")
			Expect(code).To(Equal(0), errs)
			var tried struct{ Policies []check.Trial }
			Expect(json.Unmarshal([]byte(out), &tried)).To(Succeed(), errs)
			Expect(tried.Policies).To(HaveLen(1))
			Expect(tried.Policies[0].Objects).To(Equal(2), "what is looked up elsewhere isn't judged")
			Expect(tried.Policies[0].Unjudged).To(BeZero())
			Expect(tried.Policies[0].Proven).To(Equal(tried.Policies[0].Violating))
			return []int{violating, plan.Targets(), tried.Policies[0].Violating}
		}
		Expect(found()).To(Equal([]int{1, 1, 1}))

		By("without the other one")
		Expect(suite.API.Delete(ctx, theirs)).To(Succeed())
		Expect(found()).To(Equal([]int{0, 0, 0}))
	})
})
