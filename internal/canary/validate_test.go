package canary_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

func TestValidate(t *testing.T) {
	with := func(change func(*v1alpha1.RemediationStrategy)) *v1alpha1.RemediationStrategy {
		s := strategy(1, "5%", "100%")
		s.SetDefaults()
		change(s)
		return s
	}
	waves := func(w ...any) func(*v1alpha1.RemediationStrategy) {
		return func(s *v1alpha1.RemediationStrategy) { s.Waves = strategy(nil, w...).Waves }
	}
	cases := map[string]struct {
		strategy *v1alpha1.RemediationStrategy
		want     []string
	}{
		"No strategy has no problem":     {strategy: nil},
		"An unset strategy is right":     {strategy: &v1alpha1.RemediationStrategy{}},
		"A default strategy is right":    {strategy: with(func(*v1alpha1.RemediationStrategy) {})},
		"Counts and percentages may mix": {strategy: with(waves(5, "2%", 10, "100%"))},
		"An equal wave doesn't fall":     {strategy: with(waves("5%", "5%", "100%"))},
		"A canary must have a target": {
			strategy: with(func(s *v1alpha1.RemediationStrategy) { s.Canary = strategy(0).Canary }),
			want:     []string{"spec.remediation.canary.size: 0 must be at least 1"},
		},
		"A share is a count or a percentage": {
			strategy: with(waves("a few", "100%")),
			want:     []string{`spec.remediation.waves[0]: "a few" must be a count of at least 1, or a percentage from "1%" to "100%"`},
		},
		"Percentages never fall": {
			strategy: with(waves("50%", "25%", "100%")),
			want: []string{"spec.remediation.waves[1]: 25% is less than the wave before it (50%): " +
				"waves are shares of all targets and must never fall"},
		},
		"Counts never fall": {
			strategy: with(waves(9, 3, "100%")),
			want: []string{"spec.remediation.waves[1]: 3 is less than the wave before it (9): " +
				"waves are shares of all targets and must never fall"},
		},
		"The last wave is all": {
			strategy: with(waves("5%", "99%")),
			want:     []string{`spec.remediation.waves: must end with "100%", not "99%": otherwise some targets are in no wave`},
		},
		"A last wave that can't be read isn't all": {
			strategy: with(waves("5%", "1000%")),
			want: []string{
				`spec.remediation.waves[1]: "1000%" must be a count of at least 1, or a percentage from "1%" to "100%"`,
				`spec.remediation.waves: must end with "100%", not "1000%": otherwise some targets are in no wave`,
			},
		},
		"Durations aren't negative": {
			strategy: with(func(s *v1alpha1.RemediationStrategy) {
				below := metav1.Duration{Duration: -time.Second}
				s.Canary.Soak, s.Soak, s.ProgressDeadline = &below, below, below
				s.Breaker.Window, s.Breaker.Cooldown = below, below
			}),
			want: []string{
				`spec.remediation.canary.soak: -1s must not be negative: give a duration such as "1m0s"`,
				`spec.remediation.soak: -1s must not be negative: give a duration such as "1m0s"`,
				`spec.remediation.progressDeadline: -1s must not be negative: give a duration such as "1m0s"`,
				`spec.remediation.breaker.window: -1s must not be negative: give a duration such as "1m0s"`,
				`spec.remediation.breaker.cooldown: -1s must not be negative: give a duration such as "1m0s"`,
			},
		},
		"Numbers keep to their ranges": {
			strategy: with(func(s *v1alpha1.RemediationStrategy) {
				retries := int32(21)
				s.MaxConcurrent, s.RetryLimit = 101, &retries
				s.Breaker.ConsecutiveFailures, s.Breaker.FailureRatio, s.Breaker.MinSamples = -1, 101, -5
				s.Breaker.Cooldown.Duration = 25 * time.Hour
			}),
			want: []string{
				"spec.remediation.maxConcurrent: 101 must be from 1 to 100",
				"spec.remediation.retryLimit: 21 must be from 0 to 20",
				"spec.remediation.breaker.consecutiveFailures: -1 must be from 1 to 1000",
				"spec.remediation.breaker.failureRatio: 101 must be from 1 to 100",
				"spec.remediation.breaker.minSamples: -5 must be from 1 to 10000",
				"spec.remediation.breaker.cooldown: 25h0m0s is longer than the longest cooldown, 24h0m0s",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, canary.Validate(tc.strategy)); diff != "" {
				t.Errorf("Validate (-want +got):\n%s", diff)
			}
		})
	}
}

// What the webhook lets in, a rollout must be able to use.
func TestAValidStrategyHasSizes(t *testing.T) {
	anyShare := rapid.OneOf(
		rapid.Map(rapid.IntRange(-1, 50), func(n int) any { return n }),
		rapid.Map(rapid.StringMatching(`[0-9]{1,3}%?`), func(s string) any { return s }),
	)
	rapid.Check(t, func(t *rapid.T) {
		waves := rapid.SliceOfN(anyShare, 0, 4).Draw(t, "waves")
		if rapid.Bool().Draw(t, "all") {
			waves = append(waves, "100%")
		}
		s := strategy(anyShare.Draw(t, "canary"), waves...)
		problems := canary.Validate(s)
		if _, err := canary.Sizes(rapid.IntRange(0, 99).Draw(t, "total"), s); err != nil && len(problems) == 0 {
			t.Fatalf("Validate finds nothing, but Sizes: %v", err)
		} else if err == nil && len(problems) > 0 && !falls(problems) {
			t.Fatalf("Sizes uses it, but Validate: %q", problems)
		}
	})
}

// falls tells whether all problems are falling waves, which Sizes drops.
func falls(problems []string) bool {
	return !slices.ContainsFunc(problems, func(p string) bool { return !strings.Contains(p, "never fall") })
}
