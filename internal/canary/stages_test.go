// SPDX-License-Identifier: Apache-2.0

package canary_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/test/fixture"
)

// staged has the stages staging and prod, by the namespace's label env, a stage
// of batch jobs by the target's label, and a canary drawn from staging.
func staged(steps ...any) *v1alpha1.RemediationStrategySpec {
	s := whole(steps...)
	s.Stages = []v1alpha1.RolloutStage{stage("staging", "staging"),
		{Name: "batch", Selector: v1alpha1.TargetSelector{
			ObjectSelector: &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"kind": "batch"}}}},
		stage("prod", "prod")}
	s.Steps[0].Selector = &v1alpha1.TargetSelector{
		NamespaceSelector: &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"env": "staging"}},
		ObjectSelector: &v1alpha1.LabelSelector{
			MatchExpressions: []v1alpha1.LabelSelectorRequirement{
				{Key: "tier", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"critical"}}}}}
	return s
}

func TestStages(t *testing.T) {
	in := func(env string, own map[string]string) canary.Labelled {
		return canary.Labelled{Own: own, Namespaced: true, Namespace: map[string]string{"env": env}}
	}
	without := func(key string) *v1alpha1.RemediationStrategySpec {
		s := whole()
		s.Stages = []v1alpha1.RolloutStage{
			{Name: "rest", Selector: v1alpha1.TargetSelector{NamespaceSelector: &v1alpha1.LabelSelector{
				MatchExpressions: []v1alpha1.LabelSelectorRequirement{
					{Key: key, Operator: metav1.LabelSelectorOpDoesNotExist}}}}}}
		return s
	}
	cases := map[string]struct {
		reason   string
		strategy *v1alpha1.RemediationStrategySpec
		target   canary.Labelled
		stage    string
		canary   bool
	}{
		"Without stages there is one without a name": {reason: "nor is the canary restricted", strategy: whole(),
			target: in("prod", nil), canary: true},
		"The namespace's labels choose": {
			reason: "env: prod", strategy: staged(), target: in("prod", nil), stage: "prod"},
		"The target's labels choose": {
			reason: "kind: batch", strategy: staged(), target: in("dev", map[string]string{"kind": "batch"}),
			stage: "batch"},
		"The first stage that chooses has it": {reason: "batch stands before prod", strategy: staged(),
			target: in("prod", map[string]string{"kind": "batch"}), stage: "batch"},
		"What no stage chooses comes last": {reason: "no stage is named for dev", strategy: staged(),
			target: in("dev", nil), stage: "others"},
		"The canary is drawn from staging": {reason: "both parts agree", strategy: staged(),
			target: in("staging", nil), stage: "staging", canary: true},
		"Both parts of a selector must agree": {reason: "tier: critical", strategy: staged(),
			target: in("staging", map[string]string{"tier": "critical"}), stage: "staging"},
		"A namespace without labels is chosen by what it lacks": {
			reason: "its labels are known to be none", strategy: without("env"),
			target: canary.Labelled{Namespaced: true}, stage: "rest", canary: true,
		},
		"A target of cluster scope isn't": {
			reason: "it has no namespace that could lack a label", strategy: without("env"), target: canary.Labelled{},
			stage: "others", canary: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			stages, err := canary.ReadStages(tc.strategy)
			if err != nil {
				t.Fatal(err)
			}
			if got := stages.Name(stages.Of(tc.target)); got != tc.stage {
				t.Errorf("%s\nstage: want %q, got %q", tc.reason, tc.stage, got)
			}
			if got := stages.MayBeCanary(tc.target); got != tc.canary {
				t.Errorf("%s\nmay be the canary: want %t, got %t", tc.reason, tc.canary, got)
			}
		})
	}
}

func TestReadStagesRefusesSelectorsThatCantBeRead(t *testing.T) {
	bad := &v1alpha1.LabelSelector{
		MatchExpressions: []v1alpha1.LabelSelectorRequirement{{Key: "env", Operator: "Near"}}}
	inStage, inCanary := whole(), whole()
	inStage.Stages = []v1alpha1.RolloutStage{
		stage("a", "a"), {Name: "b", Selector: v1alpha1.TargetSelector{NamespaceSelector: bad}}}
	inCanary.Steps[0].Selector = &v1alpha1.TargetSelector{ObjectSelector: bad}
	for want, s := range map[string]*v1alpha1.RemediationStrategySpec{"stages[1].selector.namespaceSelector": inStage,
		"steps[0].selector.objectSelector": inCanary} {
		if _, err := canary.ReadStages(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

func TestLayout(t *testing.T) {
	cases := map[string]struct {
		reason   string
		strategy *v1alpha1.RemediationStrategySpec
		counts   []int
		canaries int
		want     canary.Layout
	}{
		"Without stages the waves are the strategy's": {
			reason: "as Waves gives them", strategy: whole(1, "5%", "25%", "100%"), counts: []int{100},
			canaries: 100,
			want:     canary.Layout{Waves: fixture.PlannedWaves(1, 4, 20, 75)},
		},
		"Each stage has a canary and waves of its own": {
			reason: "shares are counted within the stage", strategy: staged(1, "50%", "100%"),
			counts: []int{4, 2, 10, 3}, canaries: 4,
			want: canary.Layout{Waves: fixture.PlannedWaves(1, 1, 2, 1, 1, 1, 4, 5, 1, 2),
				Stages: []v1alpha1.PlannedStage{
					{Name: "staging"}, {Name: "batch", FirstWave: 3}, {Name: "prod", FirstWave: 5},
					{Name: "others", FirstWave: 8}}},
		},
		"A stage without targets is left out": {
			reason: "staging is clean", strategy: staged(1, "100%"), counts: []int{0, 0, 5, 0}, canaries: 5,
			want: canary.Layout{Waves: fixture.PlannedWaves(1, 4), Stages: []v1alpha1.PlannedStage{{Name: "prod"}}},
		},
		"The canary is no larger than what it may be drawn from": {
			reason: "of 3 only 2 are chosen; later stages aren't concerned", strategy: staged(3, "50%", "100%"),
			counts: []int{10, 0, 6, 0}, canaries: 2,
			want: canary.Layout{Waves: fixture.PlannedWaves(2, 3, 5, 3, 3),
				Stages: []v1alpha1.PlannedStage{{Name: "staging"}, {Name: "prod", FirstWave: 3}}},
		},
		"A canary of all gets a wave behind it": {
			reason: "9 of 10 mustn't be the canary", strategy: whole("100%", "100%"), counts: []int{10}, canaries: 1,
			want: canary.Layout{Waves: fixture.PlannedWaves(1, 9)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			stages, err := canary.ReadStages(tc.strategy)
			if err != nil {
				t.Fatal(err)
			}
			got, err := stages.Layout(tc.counts, tc.canaries)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// Whatever the counts, the waves add up, none is empty, and each stage begins
// where the one before it has taken all of its targets.
func TestLayoutLeavesNoTargetOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := staged(rapid.SampledFrom([]any{1, 3, "10%", "100%"}).Draw(t, "canary"),
			rapid.SampledFrom([]any{"1%", 4, "50%"}).Draw(t, "wave"), "100%")
		stages, err := canary.ReadStages(s)
		if err != nil {
			t.Fatal(err)
		}
		counts := rapid.SliceOfN(rapid.IntRange(0, 60), 4, 4).Draw(t, "counts")
		layout, err := stages.Layout(counts, rapid.IntRange(0, 60).Draw(t, "canaries"))
		if err != nil {
			t.Fatal(err)
		}
		next := 0
		for place, count := range counts {
			if count == 0 {
				continue
			}
			first := int(layout.Stages[next].FirstWave)
			end := len(layout.Waves)
			if next++; next < len(layout.Stages) {
				end = int(layout.Stages[next].FirstWave)
			}
			sum := 0
			for wave := first; wave < end; wave++ {
				if layout.Waves[wave].Targets < 1 {
					t.Fatalf("wave %d of %v is empty", wave, layout.Waves)
				}
				sum += int(layout.Waves[wave].Targets)
			}
			if name := layout.Stages[next-1].Name; name != stages.Name(place) || sum != count ||
				!layout.IsCanary(int32(first)) {
				t.Fatalf("stage %s holds %d targets, want %d of %s", name, sum, count, stages.Name(place))
			}
		}
		if next != len(layout.Stages) {
			t.Fatalf("%d stages for %v", len(layout.Stages), counts)
		}
	})
}

func TestSplit(t *testing.T) {
	stages := []v1alpha1.PlannedStage{{Name: "staging", FirstWave: 0}, {Name: "prod", FirstWave: 2}}
	cases := map[string]struct {
		reason string
		layout canary.Layout
		most   int
		want   canary.Layout
	}{
		"without a limit nothing is split": {layout: canary.Layout{Waves: fixture.PlannedWaves(1, 99)},
			want: canary.Layout{Waves: fixture.PlannedWaves(1, 99)}},
		"what is larger is split": {layout: canary.Layout{Waves: fixture.PlannedWaves(1, 4, 25)}, most: 10,
			want: canary.Layout{Waves: fixture.PlannedWaves(1, 4, 10, 10, 5)}},
		"what fits stays": {layout: canary.Layout{Waves: fixture.PlannedWaves(1, 10)}, most: 10,
			want: canary.Layout{Waves: fixture.PlannedWaves(1, 10)}},
		"a canary is split too, its rest waves": {layout: canary.Layout{Waves: fixture.PlannedWaves(5, 3)}, most: 2,
			want: canary.Layout{Waves: fixture.PlannedWaves(2, 2, 1, 2, 1)}},
		"stages begin with the waves that they did": {
			layout: canary.Layout{Waves: fixture.PlannedWaves(1, 5, 3, 4), Stages: stages},
			most:   3,
			want: canary.Layout{Waves: fixture.PlannedWaves(1, 3, 2, 3, 3, 1),
				Stages: []v1alpha1.PlannedStage{{Name: "staging", FirstWave: 0}, {Name: "prod", FirstWave: 3}}}},
		"more waves than a plan can have aren't made": {reason: "the rollout takes a wave in parts then",
			layout: canary.Layout{Waves: fixture.PlannedWaves(1, 1000)}, most: 2,
			want: canary.Layout{Waves: fixture.PlannedWaves(1, 1000)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.layout.Split(tc.most)); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}
