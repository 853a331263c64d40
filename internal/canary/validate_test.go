// SPDX-License-Identifier: Apache-2.0

package canary_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

func TestValidate(t *testing.T) {
	with := func(change func(*v1alpha1.RemediationStrategySpec)) *v1alpha1.RemediationStrategySpec {
		s := whole(1, "5%", "100%")
		change(s)
		return s
	}
	steps := func(list ...any) func(*v1alpha1.RemediationStrategySpec) {
		return func(s *v1alpha1.RemediationStrategySpec) { s.Steps = strategy(list...).Steps }
	}
	stages := func(list ...v1alpha1.RolloutStage) func(*v1alpha1.RemediationStrategySpec) {
		return func(s *v1alpha1.RemediationStrategySpec) { s.Stages = list }
	}
	cases := map[string]struct {
		strategy *v1alpha1.RemediationStrategySpec
		want     []string // each problem begins so, in order; below spec
	}{
		"An unset strategy is right":     {strategy: &v1alpha1.RemediationStrategySpec{}},
		"A default strategy is right":    {strategy: with(func(*v1alpha1.RemediationStrategySpec) {})},
		"Counts and percentages may mix": {strategy: with(steps(5, "2%", 10, "100%"))},
		"An equal wave doesn't fall":     {strategy: with(steps("5%", "5%", "100%"))},
		"A step must have a target": {
			strategy: with(steps(0)),
			want:     []string{"steps[0].targets: 0: a count must be at least 1"},
		},
		"A share is a count or a percentage": {
			strategy: with(steps("a few", "100%")),
			want: []string{
				`steps[0].targets: "a few": must be a count of at least 1, or a percentage from "1%" to "100%"`},
		},
		"Percentages never fall": {
			strategy: with(steps("50%", "25%")),
			want: []string{"steps[1].targets: 25%: it counts the targets of the steps before it too, and must never " +
				"fall; an earlier one is already 50%"},
		},
		"Counts never fall": {
			strategy: with(steps(9, "50%", 3, "100%")),
			want:     []string{"steps[2].targets: 3: it counts the targets of the steps before it too"},
		},
		"A step of all has nothing to approve": {
			strategy: with(func(s *v1alpha1.RemediationStrategySpec) {
				s.Steps[2].Approval = v1alpha1.ApprovalRequired
			}),
			want: []string{"steps[2].approval: a step of 100% can't have it: no step follows"},
		},
		"An approval is required, or isn't named": {
			strategy: with(func(s *v1alpha1.RemediationStrategySpec) { s.Steps[0].Approval = "Optional" }),
			want:     []string{`steps[0].approval: "Optional" isn't supported: use one of Required`},
		},
		"Nothing follows a step of all": {
			strategy: with(steps(1, "100%", "100%")),
			want:     []string{"steps[2].targets: 100%: a step before it is 100% already"},
		},
		"Only the canary has a selector": {
			strategy: with(func(s *v1alpha1.RemediationStrategySpec) {
				s.Steps[0].Selector = ptr.To(stage("a", "a").Selector)
				s.Steps[1].Selector = s.Steps[0].Selector
			}),
			want: []string{"steps[1].selector: only the first step, the canary, may have one"},
		},
		"Steps are few": {
			strategy: with(func(s *v1alpha1.RemediationStrategySpec) {
				s.Steps = slices.Repeat([]v1alpha1.RolloutStep{{Targets: shareOf(5)}}, 21)
			}),
			want: []string{"steps: 21 are listed: list at most 20"},
		},
		"What has another place is refused by name": {
			strategy: with(func(s *v1alpha1.RemediationStrategySpec) {
				s.RemovedCanary, s.RemovedSoak = &apiextensionsv1.JSON{Raw: []byte(`{}`)}, "1m"
				s.RemovedWaves = []intstr.IntOrString{shareOf(1)}
			}),
			want: []string{"canary: it is gone: set steps[0]", "waves: it is gone: set steps",
				"soak: it is gone: set soak in the steps"},
		},
		"Durations aren't negative": {
			strategy: with(func(s *v1alpha1.RemediationStrategySpec) {
				below := metav1.Duration{Duration: -time.Second}
				s.Steps[0].Soak, s.ProgressDeadline = &below, below
				s.Approval.Timeout, s.Escalation.Deadline, s.History.MaxAge = below, below, below
				s.Breaker.Window, s.Breaker.Cooldown = below, below
			}),
			want: []string{
				"steps[0].soak: -1s: must be from 0s to 168h0m0s",
				"progressDeadline: -1s: must be from 1s to 24h0m0s",
				"approval.timeout: -1s: must be from 1s to 720h0m0s",
				"escalation.deadline: -1s: must be from 1s to 168h0m0s",
				"history.maxAge: -1s: must be from 1s to 43800h0m0s",
				"breaker.window: -1s: must be from 6s to 24h0m0s",
				"breaker.cooldown: -1s: must be from 1s to 24h0m0s",
			},
		},
		"Numbers keep to their ranges": {
			strategy: with(func(s *v1alpha1.RemediationStrategySpec) {
				retries := int32(21)
				s.MaxInFlight = ptr.To(shareOf(101))
				s.RetryLimit, s.History.Limit = &retries, 101
				s.Breaker.ConsecutiveFailures, s.Breaker.FailurePercent, s.Breaker.MinSamples = -1, 101, -5
				s.Breaker.Cooldown.Duration = 25 * time.Hour
			}),
			want: []string{
				"maxInFlight: 101: must be from 1 to 100",
				"retryLimit: 21: must be from 0 to 20",
				"history.limit: 101: must be from 1 to 100",
				"breaker.consecutiveFailures: -1: must be from 1 to 1000",
				"breaker.failurePercent: 101: must be from 1 to 100",
				"breaker.minSamples: -5: must be from 1 to 10000",
				"breaker.cooldown: 25h0m0s: must be from 1s to 24h0m0s",
			},
		},
		"Words are known ones": {
			strategy: with(func(s *v1alpha1.RemediationStrategySpec) {
				s.OnFailure, s.RollbackScope, s.ManagedObjects = "Ignore", "Canary", "Always"
			}),
			want: []string{
				`onFailure: "Ignore" isn't supported: use one of Rollback Hold`,
				`rollbackScope: "Canary" isn't supported: use one of Wave All`,
				`managedObjects: "Always" isn't supported: use one of Notify Remediate`,
			},
		},

		"Of words that are nearly known it is asked what was meant": {
			strategy: with(func(s *v1alpha1.RemediationStrategySpec) {
				s.OnFailure = "Rolback"
			}),
			want: []string{
				`onFailure: "Rolback" isn't supported: use one of Rollback Hold; did you mean Rollback?`,
			},
		},

		"Stages by labels are right": {strategy: with(stages(stage("staging", "staging"), stage("prod", "prod")))},
		"Stages have names of their own": {
			strategy: with(stages(stage("staging", "staging"), stage("", "test"), stage("staging", "dev"),
				stage("Others", "x"))),
			want: []string{
				`stages[1].name: "": must have from 1 to 63 characters`,
				`stages[2].name: "staging" is the name of stages[0] already`,
				`stages[3].name: "Others" is the stage of targets that no stage chooses`,
			},
		},
		"Stages say what they choose": {
			strategy: with(stages(v1alpha1.RolloutStage{Name: "all"},
				v1alpha1.RolloutStage{Name: "also",
					Selector: v1alpha1.TargetSelector{ObjectSelector: &v1alpha1.LabelSelector{}}})),
			want: []string{"stages[0].selector: it chooses every target",
				"stages[1].selector: it chooses every target"},
		},
		"Stages choose by labels that can be": {
			strategy: with(stages(stage("prod", "not a value!"))),
			want:     []string{`stages[0].selector.namespaceSelector: values[0][env]: Invalid value: "not a value!"`},
		},
		"Stages are few": {
			strategy: with(stages(stage("a", "a"), stage("b", "b"), stage("c", "c"), stage("d", "d"), stage("e", "e"),
				stage("f", "f"), stage("g", "g"), stage("h", "h"), stage("i", "i"))),
			want: []string{"stages: 9 are listed: list at most 8"},
		},
		"A canary is chosen by a selector that can be read": {
			strategy: with(func(s *v1alpha1.RemediationStrategySpec) {
				s.Steps[0].Selector = &v1alpha1.TargetSelector{ObjectSelector: &v1alpha1.LabelSelector{
					MatchExpressions: []v1alpha1.LabelSelectorRequirement{{Key: "tier", Operator: "Near"}}}}
			}),
			want: []string{`steps[0].selector.objectSelector: "Near" is not a valid label selector operator`},
		},

		"Limits are right": {strategy: with(func(s *v1alpha1.RemediationStrategySpec) {
			s.MaxInFlight, s.MaxPerNamespace = ptr.To(shareOf("10%")), ptr.To[int32](2)
		})},
		"Limits of nothing would stop everything": {
			strategy: with(func(s *v1alpha1.RemediationStrategySpec) {
				s.MaxInFlight = ptr.To(shareOf("0%"))
				s.MaxPerNamespace, s.MaxTargets = ptr.To[int32](-1), ptr.To[int32](0)
			}),
			want: []string{
				`maxInFlight: "0%": must be a count`,
				"maxPerNamespace: -1: must be from 1 to 10000",
				"maxTargets: 0: must be from 1 to 100000",
			},
		},
		"Windows can be read": {
			strategy: with(func(s *v1alpha1.RemediationStrategySpec) {
				s.Windows = []v1alpha1.MaintenanceWindow{
					v1alpha1.MaintenanceWindow(window("0 22 * * *", time.Hour, "Europe/Berlin")),
					v1alpha1.MaintenanceWindow(window("0 25 * * *", time.Second, "Mars/Base"))}
			}),
			want: []string{
				`windows[1].schedule: "0 25 * * *" can't be read as minute, hour, day of month, month and day of week`,
				"windows[1].duration: 1s: must be from 1m0s to 168h0m0s",
				`windows[1].timeZone: "Mars/Base" isn't the IANA name of a time zone`,
			},
		},
		"An analysis asks something": {
			strategy: with(func(s *v1alpha1.RemediationStrategySpec) { s.Analysis = &v1alpha1.AnalysisStrategy{} }),
			want:     []string{"analysis.metrics: it is empty: name at least one metric"},
		},
		"Metrics can be asked and judged": {
			strategy: with(func(s *v1alpha1.RemediationStrategySpec) {
				s.Analysis = &v1alpha1.AnalysisStrategy{Metrics: []v1alpha1.AnalysisMetric{
					{Name: "errors", Query: "sum(rate(errors_total[5m])", SuccessCondition: "sampel < 1.0"}}}
			}),
			want: []string{
				"analysis.metrics[0].query: isn't PromQL: ",
				"analysis.metrics[0].successCondition: isn't a condition: ",
			},
		},
		"Metrics are whole": {
			strategy: with(func(s *v1alpha1.RemediationStrategySpec) {
				good := v1alpha1.AnalysisMetric{Name: "errors", Query: "up", SuccessCondition: "sample < 1.0"}
				bad := v1alpha1.AnalysisMetric{Name: "errors", Samples: 101, FailureLimit: -1,
					Interval: metav1.Duration{Duration: 2 * time.Hour}}
				s.Analysis = &v1alpha1.AnalysisStrategy{Metrics: []v1alpha1.AnalysisMetric{good, bad}}
			}),
			want: []string{
				`analysis.metrics[1].name: "errors" is the name of metrics[0] already`,
				"analysis.metrics[1].query: it is missing",
				"analysis.metrics[1].successCondition: it is missing",
				"analysis.metrics[1].interval: 2h0m0s: must be from 1s to 1h0m0s",
				"analysis.metrics[1].samples: 101: must be from 1 to 100",
				"analysis.metrics[1].failureLimit: -1: must be from 0 to 100",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := canary.Validate(tc.strategy)
			if len(got) != len(tc.want) {
				t.Fatalf("want %d problems, got %d: %v", len(tc.want), len(got), got)
			}
			for i, problem := range got {
				if !strings.HasPrefix(problem.String(), tc.want[i]) {
					t.Errorf("problem %d: want %q, got %q", i, tc.want[i], problem)
				}
			}
		})
	}
}

func texts(problems []canary.Problem) []string {
	var list []string
	for _, p := range problems {
		list = append(list, p.String())
	}
	return list
}

func TestValidatePolicy(t *testing.T) {
	r := &v1alpha1.PolicyRemediation{Mode: "automatic",
		AllowedActions: []v1alpha1.ActionType{v1alpha1.ActionPatch, "Reboot"}}
	r.RemovedMaxInFlight, r.RemovedBudget = 3, &apiextensionsv1.JSON{Raw: []byte(`{}`)}
	want := []string{
		`mode: "automatic" isn't supported: use one of Disabled DryRun Manual Automatic; did you mean Automatic?`,
		`allowedActions[1]: "Reboot" isn't supported: use one of Patch Create Delete Evict Restart Scale`,
		"maxInFlight: it is gone: set maxInFlight of the RemediationStrategy that strategyRef names",
		"budget: it is gone: set maxInFlight, maxPerNamespace and maxTargets of the RemediationStrategy that " +
			"strategyRef names",
	}
	if diff := cmp.Diff(want, texts(canary.ValidatePolicy(r))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// What the webhook lets in, a rollout must be able to use.
func TestAValidStrategyHasWaves(t *testing.T) {
	anyShare := rapid.OneOf(
		rapid.Map(rapid.IntRange(-1, 50), func(n int) any { return n }),
		rapid.Map(rapid.StringMatching(`[0-9]{1,3}%?`), func(s string) any { return s }),
	)
	rapid.Check(t, func(t *rapid.T) {
		s := whole(rapid.SliceOfN(anyShare, 0, 5).Draw(t, "steps")...)
		problems := canary.Validate(s)
		if _, err := canary.Waves(rapid.IntRange(0, 99).Draw(t, "total"), s.Steps); err != nil && len(problems) == 0 {
			t.Fatalf("Validate finds nothing, but Waves: %v", err)
		} else if err == nil && len(problems) > 0 && !falls(problems) {
			t.Fatalf("Waves uses it, but Validate: %v", problems)
		}
	})
}

// falls tells whether all problems are steps that add nothing, which Waves drops.
func falls(problems []canary.Problem) bool {
	return !slices.ContainsFunc(problems, func(p canary.Problem) bool {
		return !strings.Contains(p.Message, "never fall") && !strings.Contains(p.Message, "100% already")
	})
}

// stage chooses namespaces by their label env.
func stage(name, env string) v1alpha1.RolloutStage {
	return v1alpha1.RolloutStage{Name: name, Selector: v1alpha1.TargetSelector{
		NamespaceSelector: &v1alpha1.LabelSelector{
			MatchLabels: map[string]v1alpha1.LabelValue{"env": v1alpha1.LabelValue(env)}}}}
}
