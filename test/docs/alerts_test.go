// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/internal/escalate"
)

// rule is an alerting rule of Prometheus.
type rule struct {
	Alert         string            `json:"alert"`
	Expr          string            `json:"expr"`
	For           string            `json:"for,omitempty"`
	KeepFiringFor string            `json:"keep_firing_for,omitempty"`
	Labels        map[string]string `json:"labels"`
	Annotations   map[string]string `json:"annotations"`
}

type ruleGroups struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	} `json:"groups"`
}

// rules reads the rules of a Prometheus without the operator.
func rules(t *testing.T) map[string]rule {
	t.Helper()
	var file ruleGroups
	if err := yaml.UnmarshalStrict([]byte(read(t, "config/prometheus/rules.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	byName := map[string]rule{}
	for _, group := range file.Groups {
		for _, r := range group.Rules {
			byName[r.Alert] = r
		}
	}
	return byName
}

func TestBothFormsOfTheRulesAreTheSame(t *testing.T) {
	var plain ruleGroups
	var resource struct {
		Spec ruleGroups `json:"spec"`
	}
	for file, into := range map[string]any{
		"config/prometheus/rules.yaml": &plain, "config/prometheus/prometheus_rule.yaml": &resource} {
		if err := yaml.Unmarshal([]byte(read(t, file)), into); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(plain, resource.Spec); diff != "" || len(plain.Groups) == 0 {
		t.Errorf("rules.yaml and prometheus_rule.yaml differ (-plain +resource):\n%s", diff)
	}
}

func TestEveryAlertOfTheManagerHasItsRule(t *testing.T) {
	byName := rules(t)
	for _, name := range constants(t, "internal/escalate/alert.go", "Alert") {
		want := `max by (severity, policy, owner, scope, covers) (evenkeel_escalation_alerts{alert="` + name + `"}) > 0`
		if got := byName[name].Expr; got != want {
			t.Errorf("config/prometheus/rules.yaml, %s: expr is %q, want %q", name, got, want)
		}
	}
}

func TestEveryAlertHasItsRunbookAndEveryRunbookItsAlert(t *testing.T) {
	byName := rules(t)
	operate := read(t, "docs/operate.md")
	pages := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		page := escalate.RunbookPage(name) + ".md"
		pages[page] = true
		if at := byName[name].Annotations["runbook_url"]; path.Base(at)+".md" != page {
			t.Errorf("%s: runbook_url is %q, want it to lead to %s", name, at, page)
		}
		if byName[name].Annotations["summary"] == "" || byName[name].Annotations["description"] == "" {
			t.Errorf("%s has no summary or description", name)
		}
		if !strings.Contains(read(t, "docs/runbooks/"+page), "`"+name+"`") {
			t.Errorf("docs/runbooks/%s doesn't name the alert %s", page, name)
		}
		if !strings.Contains(operate, "[`"+name+"`](runbooks/"+page+")") {
			t.Errorf("docs/operate.md doesn't lead from %s to its runbook", name)
		}
	}
	files, err := os.ReadDir(filepath.Join(root, "docs/runbooks"))
	if err != nil {
		t.Fatal(err)
	}
	led := ""
	for page := range pages {
		led += read(t, "docs/runbooks/"+page)
	}
	for _, file := range files {
		if !pages[file.Name()] && !strings.Contains(led, "]("+file.Name()+")") {
			t.Errorf("docs/runbooks/%s belongs to no alert, and no alert's runbook leads to it", file.Name())
		}
	}
}
