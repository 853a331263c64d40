// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"io"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// comparisons are the lines of metrics that say what has become of the verdicts that were given
// again: by all that this process of the suite has judged so far.
func comparisons(ctx context.Context) (lines []string) {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, metricsURL, nil)
	Expect(err).NotTo(HaveOccurred())
	response, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	page, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "evenkeel_engine_comparisons_total{") ||
			strings.HasPrefix(line, "evenkeel_policy_engines_differ{") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

var _ = Describe("The engines", func() {
	It("give the same verdicts of all that was judged, and a policy says which judges it", func(
		ctx context.Context) {
		namespace := suite.Namespace(ctx, "engines")
		suite.Create(ctx, fixture.ConfigMaps(namespace, 3)...)
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.DenyState("bad")))
		suite.AwaitScan(ctx, namespace, func(g Gomega, s *v1alpha1.ScanStatus) {
			g.Expect(s.Scanned).To(BeEquivalentTo(3))
		})
		Expect(suite.Policy(ctx, namespace).Status.Engine).To(Equal(&v1alpha1.PolicyEngine{Name: "compiled"}))
		Eventually(ctx, comparisons).Should(ContainElement(MatchRegexp(`result="same"} [1-9]`)))
		Expect(comparisons(ctx)).To(ContainElement(`evenkeel_engine_comparisons_total{result="different"} 0`))
		Expect(comparisons(ctx)).NotTo(ContainElement(HavePrefix("evenkeel_policy_engines_differ")))
	})
})
