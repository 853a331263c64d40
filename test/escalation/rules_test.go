// SPDX-License-Identifier: Apache-2.0

package escalation_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"

	"evenkeel.dev/evenkeel/test/rig"
)

// ruleConfig makes a Prometheus load a file of rules, and scrape one target.
const ruleConfig = `global: {scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms}
rule_files: [%q]
scrape_configs:
- job_name: spec
  static_configs: [{targets: [%q]}]
`

// firing are the names of the alerts that fire. It errs while a rule hasn't been
// evaluated yet, or can't be.
func firing(ctx context.Context, url string) ([]string, error) {
	client, err := api.NewClient(api.Config{Address: url})
	if err != nil {
		return nil, err
	}
	loaded, err := promv1.NewAPI(client).Rules(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("ask Prometheus for its rules: %w", err)
	}
	var names []string
	for _, group := range loaded.Groups {
		for _, one := range group.Rules {
			rule, isAlert := one.(promv1.AlertingRule)
			if !isAlert || rule.Health != promv1.RuleHealthGood {
				return nil, fmt.Errorf("rule %+v isn't evaluated", one)
			}
			if rule.State == "firing" {
				names = append(names, rule.Name)
			}
		}
	}
	return names, nil
}

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
		promtool(ctx, "test", "rules", "testdata/rules_test.yaml", "testdata/state_rules_test.yaml")
	})

	It("are loaded by a Prometheus, evaluated without an error, and fire on what is scraped",
		func(ctx context.Context) {
			exporter := &rig.Exporter{}
			server := httptest.NewServer(exporter)
			DeferCleanup(server.Close)
			exporter.Set(
				`evenkeel_escalation_alerts{alert="EvenkeelRemediationHeld",severity="ticket",policy="labels",owner="shop",scope="",covers=""} 1` + "\n")
			file, err := filepath.Abs("../../config/prometheus/rules.yaml")
			Expect(err).NotTo(HaveOccurred())
			prometheus := suite.StartPrometheus(
				ctx, fmt.Sprintf(ruleConfig, file, strings.TrimPrefix(server.URL, "http://")))
			Eventually(ctx, func() ([]string, error) {
				return firing(ctx, prometheus.URL)
			}).Should(ConsistOf("EvenkeelRemediationHeld"))
		})
})
