// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var (
	// metricName finds names of Evenkeel's metrics.
	metricName = regexp.MustCompile(`\bevenkeel_[a-z]+_[a-z_]*[a-z]\b`)
	// histogramPart is what Prometheus adds to the name of a histogram.
	histogramPart = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// ruleTests is a file of `promtool test rules`, as far as it matters here.
type ruleTests struct {
	Tests []struct {
		Cases []struct {
			Alert    string `json:"alertname"`
			Expected []any  `json:"exp_alerts"`
		} `json:"alert_rule_test"`
	} `json:"tests"`
}

func TestEveryRuleIsTriedWithFiguresThatRaiseItAndFiguresThatDont(t *testing.T) {
	raised, quiet := map[string]bool{}, map[string]bool{}
	files, err := filepath.Glob(filepath.Join(root, "test/escalation/testdata/*rules_test.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests of rules found: %v", err)
	}
	for _, file := range files {
		var tests ruleTests
		if err := yaml.Unmarshal([]byte(readPath(t, file)), &tests); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, test := range tests.Tests {
			for _, c := range test.Cases {
				if len(c.Expected) > 0 {
					raised[c.Alert] = true
				} else {
					quiet[c.Alert] = true
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rules(t))) {
		if !raised[name] || !quiet[name] {
			t.Errorf("no test below test/escalation/testdata raises %s, or none leaves it quiet (raised %t, quiet "+
				"%t): add a case to a *rules_test.yaml", name, raised[name], quiet[name])
		}
	}
}

func TestEveryMetricThatPeopleAreSentToExists(t *testing.T) {
	known := map[string]bool{}
	for _, m := range metricName.FindAllString(read(t, "docs/reference/signals.md"), -1) {
		known[m] = true
	}
	for _, pattern := range []string{"internal/*/*.go", "internal/*/*/*.go", "docs/*.md", "docs/runbooks/*.md",
		"config/prometheus/*.yaml"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files: %v", pattern, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, m := range metricName.FindAllString(readPath(t, file), -1) {
				if !known[histogramPart.ReplaceAllString(m, "")] && !known[m] {
					t.Errorf("%s names the metric %s, which doesn't exist", file, m)
				}
			}
		}
	}
}
