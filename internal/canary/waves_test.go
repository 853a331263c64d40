// SPDX-License-Identifier: Apache-2.0

package canary_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/test/fixture"
)

// strategy has the given steps, written as in YAML: 1, "5%".
func strategy(steps ...any) *v1alpha1.RemediationStrategySpec {
	s := &v1alpha1.RemediationStrategySpec{}
	for _, step := range steps {
		s.Steps = append(s.Steps, v1alpha1.RolloutStep{Targets: shareOf(step)})
	}
	return s
}

// whole is strategy with its defaults.
func whole(steps ...any) *v1alpha1.RemediationStrategySpec {
	s := strategy(steps...)
	s.SetDefaults()
	return s
}

func shareOf(v any) intstr.IntOrString {
	if n, ok := v.(int); ok {
		return intstr.FromInt32(int32(n))
	}
	return intstr.FromString(v.(string))
}

func TestWaves(t *testing.T) {
	cases := map[string]struct {
		reason   string
		total    int
		strategy *v1alpha1.RemediationStrategySpec
		want     []int32
	}{
		"A wave that the canary covers is dropped": {
			reason: "5 % of 30 is 1, which is the canary; 25 % is 7, so 6 more.",
			total:  30, strategy: strategy(1, "5%", "25%", "100%"), want: []int32{1, 6, 23},
		},
		"A single target is the canary and all": {
			reason: "Nothing is left for the waves.",
			total:  1, strategy: strategy(1, "5%", "25%", "100%"), want: []int32{1},
		},
		"No target makes no wave": {
			reason: "There is nothing to fix.",
			total:  0, strategy: strategy(1, "100%"), want: []int32{},
		},
		"An empty strategy takes the defaults": {
			reason: "Steps 1, 5 %, 25 %, and then all.",
			total:  100, strategy: whole(), want: []int32{1, 4, 20, 75},
		},
		"A canary in percent rounds down": {
			reason: "10 % of 39 is 3.",
			total:  39, strategy: strategy("10%", "100%"), want: []int32{3, 36},
		},
		"A percentage is at least one target": {
			reason: "1 % of 7 would be none.",
			total:  7, strategy: strategy("1%", "100%"), want: []int32{1, 6},
		},
		"A canary larger than the fleet is capped": {
			reason: "50 targets aren't there.",
			total:  4, strategy: strategy(50, "100%"), want: []int32{4},
		},
		"Counts are cumulative too": {
			reason: "Done after the waves: 2, 5, 10, 20.",
			total:  20, strategy: strategy(2, 5, 10, "100%"), want: []int32{2, 3, 5, 10},
		},
		"A count above the total takes all": {
			reason: "The last wave then adds nothing.",
			total:  8, strategy: strategy(1, 500, "100%"), want: []int32{1, 7},
		},
		"A falling wave of another kind adds nothing": {
			reason: "10 is more than 5 % of 40.",
			total:  40, strategy: strategy(1, 10, "5%", "100%"), want: []int32{1, 9, 30},
		},
		"A large fleet doesn't overflow": {
			reason: "2,000,000,000 × 99 exceeds 32 bits.",
			total:  2_000_000_000, strategy: strategy(1, "99%", "100%"), want: []int32{1, 1_979_999_999, 20_000_000},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.strategy.SetDefaults()
			got, err := canary.Waves(tc.total, tc.strategy.Steps)
			if err != nil {
				t.Fatalf("%s\nWaves: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, canary.Targets(got)); diff != "" {
				t.Errorf("%s\nWaves (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWavesRefuses(t *testing.T) {
	cases := map[string]struct {
		total    int
		strategy *v1alpha1.RemediationStrategySpec
		want     string
	}{
		"No steps":                       {total: 1, strategy: strategy(), want: "must be 100%"},
		"A negative number of targets":   {total: -1, strategy: strategy(1, "100%"), want: "-1 targets"},
		"More targets than 32 bits hold": {total: 1 << 31, strategy: strategy(1, "100%"), want: "2147483648 targets"},
		"Waves that end before 100 %": {
			total: 9, strategy: strategy(1, "5%", "50%"), want: "the last must be 100%"},
		"Waves that end with a count": {total: 9, strategy: strategy(1, 9), want: `must be 100%`},
		"A share that is no percentage": {
			total: 9, strategy: strategy(1, "5", "100%"), want: `steps[1].targets: "5": must be`},
		"A percentage above 100": {total: 9, strategy: strategy(1, "101%"), want: `steps[1].targets: "101%"`},
		"A canary of none": {
			total: 9, strategy: strategy(0, "100%"), want: "steps[0].targets: 0: a count must be at least 1"},
		"A canary of zero percent": {
			total: 9, strategy: strategy("0%", "100%"), want: `steps[0].targets: "0%"`},
		"A percentage with a leading zero": {total: 9, strategy: strategy(1, "0100%"), want: `"0100%"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := canary.Waves(tc.total, tc.strategy.Steps)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Waves = %v, error %v; want an error with %q", got, err, tc.want)
			}
		})
	}
}

func TestWhichSoakAWaveHas(t *testing.T) {
	soaking := func(targets any, soak time.Duration) v1alpha1.RolloutStep {
		return v1alpha1.RolloutStep{Targets: shareOf(targets), Soak: &metav1.Duration{Duration: soak}}
	}
	s := &v1alpha1.RemediationStrategySpec{Steps: []v1alpha1.RolloutStep{soaking(1, time.Hour), soaking("5%", 0),
		{Targets: shareOf("25%")}, soaking("50%", time.Minute/2)}}
	s.SetDefaults()
	for total, want := range map[int][]time.Duration{
		// The last step soaks as that before it.
		100: {time.Hour, 0, v1alpha1.DefaultSoak, time.Minute / 2, time.Minute / 2},
		// 5% adds none, and its soak goes.
		10: {time.Hour, v1alpha1.DefaultSoak, time.Minute / 2, time.Minute / 2},
		1:  {time.Hour},
	} {
		waves, err := canary.Waves(total, s.Steps)
		if err != nil {
			t.Fatal(err)
		}
		var got []time.Duration
		for _, wave := range waves {
			got = append(got, wave.Soak.Duration)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d targets: -want +got\n%s", total, diff)
		}
	}
}

func drawStrategy(t *rapid.T) *v1alpha1.RemediationStrategySpec {
	shares := rapid.Custom(func(t *rapid.T) any {
		if rapid.Bool().Draw(t, "count") {
			return rapid.IntRange(1, 400).Draw(t, "n")
		}
		return rapid.StringMatching(`[1-9][0-9]?%`).Draw(t, "percent")
	})
	waves := append(rapid.SliceOfN(shares, 0, 5).Draw(t, "waves"), "100%")
	return whole(append([]any{shares.Draw(t, "canary")}, waves...)...)
}

func TestEveryTargetIsInExactlyOneWave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(0, 500).Draw(t, "total")
		s := drawStrategy(t)
		planned, err := canary.Waves(total, s.Steps)
		if err != nil {
			t.Fatalf("Waves: %v", err)
		}
		sizes := canary.Targets(planned)
		sum := 0
		for i, n := range sizes {
			if n < 1 {
				t.Fatalf("wave %d takes %d targets: %v", i, n, sizes)
			}
			sum += int(n)
		}
		if sum != total {
			t.Fatalf("sizes %v add up to %d, want %d", sizes, sum, total)
		}
		waves := canary.Assign(total, planned)
		if len(waves) != total {
			t.Fatalf("Assign gives %d waves to %d targets", len(waves), total)
		}
		got := make([]int32, len(sizes))
		for i, w := range waves {
			if i > 0 && w < waves[i-1] {
				t.Fatalf("target %d is in wave %d, after one in %d", i, w, waves[i-1])
			}
			got[w]++
		}
		if diff := cmp.Diff(sizes, got); diff != "" {
			t.Fatalf("targets by wave (-sizes +assigned):\n%s", diff)
		}
	})
}

func TestAssign(t *testing.T) {
	cases := map[string]struct {
		total int
		sizes []int32
		want  []int32
	}{
		"Targets fill the waves in order":               {total: 4, sizes: []int32{1, 3}, want: []int32{0, 1, 1, 1}},
		"Targets beyond the sizes join the last wave":   {total: 4, sizes: []int32{1, 1}, want: []int32{0, 1, 1, 1}},
		"Sizes beyond the targets stay empty":           {total: 2, sizes: []int32{1, 3, 9}, want: []int32{0, 1}},
		"Without sizes all targets are in the one wave": {total: 2, want: []int32{0, 0}},
		"No target is in no wave":                       {total: 0, sizes: []int32{1}, want: []int32{}},
		"A negative total has no targets":               {total: -3, want: []int32{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, canary.Assign(tc.total, fixture.PlannedWaves(tc.sizes...))); diff != "" {
				t.Errorf("Assign (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWavesKeepTheApprovalOfTheirStep(t *testing.T) {
	required := func(strategy *v1alpha1.RemediationStrategySpec, steps ...int) *v1alpha1.RemediationStrategySpec {
		for _, i := range steps {
			strategy.Steps[i].Approval = v1alpha1.ApprovalRequired
		}
		return strategy
	}
	for name, tc := range map[string]struct {
		total    int
		strategy *v1alpha1.RemediationStrategySpec
		want     []bool
	}{
		"none asks": {total: 100, strategy: whole(1, "5%"), want: []bool{false, false, false}},
		"each step has its own": {total: 100, strategy: required(whole(1, "5%"), 1),
			want: []bool{false, true, false}},
		"one that adds nothing asks too": {total: 10, strategy: required(whole(1, "5%"), 1), want: []bool{true, false}},
		"a stage without targets has nothing to approve": {
			strategy: required(whole(1, "5%"), 0)},
	} {
		waves, err := canary.Waves(tc.total, tc.strategy.Steps)
		if err != nil {
			t.Fatal(err)
		}
		var got []bool
		for _, wave := range waves {
			got = append(got, wave.Approval == v1alpha1.ApprovalRequired)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestEachStageAsksForTheApprovalOfItsSteps(t *testing.T) {
	s := whole(1)
	s.Steps[0].Approval = v1alpha1.ApprovalRequired
	s.Stages = []v1alpha1.RolloutStage{{Name: "staging", Selector: v1alpha1.TargetSelector{
		ObjectSelector: &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"env": "staging"}}}}}
	stages, err := canary.ReadStages(s)
	if err != nil {
		t.Fatal(err)
	}
	layout, err := stages.Layout([]int{3, 9}, 3)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, wave := range layout.Split(4).Waves {
		got = append(got, fmt.Sprintf("%d%.1s", wave.Targets, wave.Approval))
	}
	if diff := cmp.Diff([]string{"1R", "2", "1R", "4", "4"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
