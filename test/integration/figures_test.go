// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("The figures in a policy's status", func() {
	It("are written once in an interval while they change all the time", Serial, func(ctx context.Context) {
		const interval, lasts = 4 * time.Second, 14 * time.Second
		restartWith(ctx, fmt.Sprintf("--scan-status-interval=%s", interval))
		name := suite.Namespace(ctx, "figures")
		suite.CreatePolicy(ctx, fixture.Policy(name, name, fixture.FixState))
		Eventually(ctx, func() bool {
			return meta.IsStatusConditionTrue(suite.Policy(ctx, name).Status.Conditions, v1alpha1.ConditionReady)
		}).Should(BeTrue())

		versions, created := map[string]bool{}, 0
		for until := time.Now().Add(lasts); time.Now().Before(until); created++ {
			suite.Create(ctx, fixture.ConfigMap(name, fmt.Sprint("bad-", created)))
			versions[suite.Policy(ctx, name).ResourceVersion] = true
		}
		Expect(created).To(BeNumerically(">", 20), "the figures change all the time")
		// What was there before, that something violates, and one in each interval.
		Expect(len(versions)).To(BeNumerically("<=", 2+1+int(lasts/interval)))
		Eventually(ctx, func() int32 { return suite.Policy(ctx, name).Status.Scan.Violating }).
			WithTimeout(4 * interval).Should(BeEquivalentTo(created))
	})
})
