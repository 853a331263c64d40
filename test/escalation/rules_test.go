package escalation_test

import (
	"context"
	"os/exec"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("The rules for Prometheus", func() {
	promtool := func(ctx context.Context, args ...string) {
		GinkgoHelper()
		path, err := suite.Tool(ctx, "promtool")
		Expect(err).NotTo(HaveOccurred())
		out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(out))
	}

	It("are well formed", func(ctx context.Context) {
		promtool(ctx, "check", "rules", "../../config/prometheus/rules.yaml")
	})

	It("raise, keep and end their alerts as they should", func(ctx context.Context) {
		promtool(ctx, "test", "rules", "testdata/rules_test.yaml")
	})
})
