// SPDX-License-Identifier: Apache-2.0

package canary_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

func TestHealthRules(t *testing.T) {
	rule := v1alpha1.PlannedHealthRule{APIGroup: "example.com", Kind: "Widget",
		Current: "object.status.phase == 'Running'",
		Failed:  "object.status.phase == 'Broken'"}
	many := make([]any, 2000)
	for i := range many {
		many[i] = int64(i)
	}
	type want struct {
		Verdict canary.HealthVerdict
		Says    string
	}
	cases := map[string]struct {
		reason string
		rule   v1alpha1.PlannedHealthRule
		object map[string]any
		want   want
	}{
		"What holds is current": {reason: "all is well", rule: rule, object: status("phase", "Running"),
			want: want{canary.HealthCurrent, "holds"}},
		"What doesn't hold is in progress": {reason: "not yet", rule: rule, object: status("phase", "Starting"),
			want: want{canary.HealthInProgress, "doesn't hold"}},
		"What has failed has failed": {reason: "for good", rule: rule, object: status("phase", "Broken"),
			want: want{canary.HealthFailed, "has failed"}},
		"A field that isn't there is no proof": {reason: "the controller hasn't written a status", rule: rule,
			object: map[string]any{},
			want:   want{canary.HealthInProgress, "can't be calculated: no such key"}},
		"A field of another type is no proof": {reason: "nobody knows what it means",
			rule: v1alpha1.PlannedHealthRule{Current: "object.status.ready"}, object: status("ready", "yes"),
			want: want{canary.HealthInProgress, "not true or false"}},
		"A calculation without end is stopped": {reason: "its cost is bounded",
			rule: v1alpha1.PlannedHealthRule{
				Current: "object.list.all(a, object.list.all(b, object.list.all(c, a + b + c >= 0)))"},
			object: map[string]any{"list": many}, want: want{canary.HealthInProgress, "cost limit exceeded"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, says, err := canary.JudgeHealth(tc.rule, tc.object)
			if err != nil {
				t.Fatal(err)
			}
			if got != tc.want.Verdict || !strings.Contains(says, tc.want.Says) {
				t.Errorf("%s\nJudgeHealth: want %+v, got %d: %s", tc.reason, tc.want, got, says)
			}
		})
	}
}

func status(key string, value any) map[string]any {
	return map[string]any{"status": map[string]any{key: value}}
}

func TestHealthRulesAreChecked(t *testing.T) {
	with := func(rules ...v1alpha1.HealthRule) *v1alpha1.RemediationStrategySpec {
		s := &v1alpha1.RemediationStrategySpec{Health: &v1alpha1.HealthStrategy{Rules: rules}}
		s.SetDefaults()
		return s
	}
	many := make([]v1alpha1.HealthRule, 17)
	for i := range many {
		many[i] = v1alpha1.HealthRule{Kind: fmt.Sprintf("Kind%d", i), Current: "object.ok == true"}
	}
	wrongWord := with()
	wrongWord.Health.Unknown = "Perhaps"
	cases := map[string]struct {
		reason   string
		strategy *v1alpha1.RemediationStrategySpec
		want     []string
	}{
		"A comparison is right": {reason: "true or false of the object",
			strategy: with(v1alpha1.HealthRule{
				Kind:    "Widget",
				Current: "object.status.?phase.orValue('') == 'Running' && object.status.all(k, k != '')"})},
		"Text that isn't CEL": {reason: "the column helps",
			strategy: with(v1alpha1.HealthRule{Kind: "Widget", Current: "object.status ="}),
			want: []string{
				"health.rules[0].current: isn't a health expression: column 15: Syntax error"}},
		"A variable that isn't there": {
			reason: "the name helps", strategy: with(v1alpha1.HealthRule{Kind: "Widget", Current: "self.ok == true"}),
			want: []string{"undeclared reference to 'self'", "the object is called object"}},
		"A number": {
			reason: "it says neither", strategy: with(v1alpha1.HealthRule{Kind: "Widget", Current: "size(object)"}),
			want: []string{"must be true or false, not a int"}},
		"A constant": {
			reason:   "it says nothing of the object",
			strategy: with(v1alpha1.HealthRule{Kind: "Widget", Current: "true"}),
			want:     []string{"doesn't use object"}},
		"A wrong word of failure": {
			reason:   "it is checked too",
			strategy: with(v1alpha1.HealthRule{Kind: "Widget", Current: "object.ok == true", Failed: "nope"}),
			want:     []string{"health.rules[0].failed"}},
		"A rule for no kind": {
			reason: "it would never be asked", strategy: with(v1alpha1.HealthRule{Current: "object.ok == true"}),
			want: []string{"health.rules[0].kind"}},
		"Two rules for a kind": {reason: "which would count?", strategy: with(many[0], many[0]),
			want: []string{"health.rules[1]: Kind0 has a rule already, health.rules[0]"}},
		"More rules than are taken": {reason: "the list is bounded", strategy: with(many...),
			want: []string{"17 are listed: list at most 16"}},
		"A word that isn't known": {reason: "it is Hold or Allow", strategy: wrongWord,
			want: []string{`"Perhaps" isn't supported: use one of Hold Allow`}},
		"An expression that is too long": {
			reason: "the length is bounded",
			strategy: with(v1alpha1.HealthRule{
				Kind: "Widget", Current: "object.a == '" + strings.Repeat("x", 1100) + "'"}),
			want: []string{"expression code point size exceeds limit"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			problems := canary.Validate(tc.strategy)
			if (len(problems) == 0) != (len(tc.want) == 0) {
				t.Fatalf("%s\nValidate: got %v", tc.reason, problems)
			}
			for _, part := range tc.want {
				if !strings.Contains(problems[0].String(), part) {
					t.Errorf("%s\nValidate: want %q in %q", tc.reason, part, problems[0])
				}
			}
		})
	}
}

// The rules for well-known kinds are right themselves, and one of a strategy's own
// comes before them.
func TestKnownHealthRules(t *testing.T) {
	seen := map[string]bool{}
	for _, rule := range canary.KnownHealth() {
		key := rule.Kind + "." + rule.APIGroup
		if seen[key] {
			t.Errorf("%s has two rules", key)
		}
		seen[key] = true
		s := &v1alpha1.RemediationStrategySpec{
			Health: &v1alpha1.HealthStrategy{Rules: []v1alpha1.HealthRule{v1alpha1.HealthRule(rule)}}}
		s.SetDefaults()
		if problems := canary.Validate(s); len(problems) > 0 {
			t.Errorf("the rule for %s: %v", key, problems)
		}
		if verdict, _, err := canary.JudgeHealth(rule, map[string]any{}); err != nil ||
			verdict == canary.HealthCurrent {
			t.Errorf("%s without a status is %d, %v: it may not be current", key, verdict, err)
		}
	}
	own := v1alpha1.PlannedHealthRule{APIGroup: "argoproj.io", Kind: "Rollout", Current: "object.ok == true"}
	got, _ := canary.HealthRuleFor([]v1alpha1.PlannedHealthRule{own}, "argoproj.io",
		"Rollout")
	if diff := cmp.Diff(own, got); diff != "" {
		t.Errorf("the strategy's own rule comes first: -want +got\n%s", diff)
	}
	healthy := map[string]any{
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Programmed", "status": "True"}}}}
	gateway, found := canary.HealthRuleFor(nil, "gateway.networking.k8s.io", "Gateway")
	if verdict, says, err := canary.JudgeHealth(gateway, healthy); !found || err != nil ||
		verdict != canary.HealthCurrent {
		t.Errorf("a Gateway that is programmed is current: %d, %s, %v", verdict, says, err)
	}
	if _, found := canary.HealthRuleFor(nil, "example.com", "Rollout"); found {
		t.Error("a rule is for its group only")
	}
}
