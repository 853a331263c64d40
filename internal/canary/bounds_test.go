// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestWhereTheLimitsOfAStrategyBegin(t *testing.T) {
	seconds := func(n int) metav1.Duration { return metav1.Duration{Duration: time.Duration(n) * time.Second} }
	cases := map[string]struct {
		check func(p *problems)
		want  bool
	}{
		"a number, unset":            {func(p *problems) { p.within("f", 0, 2, 5) }, true},
		"a number below the least":   {func(p *problems) { p.within("f", 1, 2, 5) }, false},
		"the least number":           {func(p *problems) { p.within("f", 2, 2, 5) }, true},
		"the largest number":         {func(p *problems) { p.within("f", 5, 2, 5) }, true},
		"a number above the largest": {func(p *problems) { p.within("f", 6, 2, 5) }, false},
		"a time, unset": {func(p *problems) {
			p.lasts("f",
				seconds(0), 2*time.Second, 5*time.Second)
		}, true},
		"a time below the least": {func(p *problems) {
			p.lasts("f",
				seconds(1), 2*time.Second, 5*time.Second)
		}, false},
		"the least time": {func(p *problems) {
			p.lasts("f",
				seconds(2), 2*time.Second, 5*time.Second)
		}, true},
		"the longest time": {func(p *problems) {
			p.lasts("f",
				seconds(5), 2*time.Second, 5*time.Second)
		}, true},
		"a time above the longest": {func(p *problems) {
			p.lasts("f",
				seconds(6), 2*time.Second, 5*time.Second)
		}, false},
		"as many as may be": {func(p *problems) { p.atMost("f", 3, 3) }, true},
		"one too many":      {func(p *problems) { p.atMost("f", 4, 3) }, false},
	}
	count := func(n int32) func(p *problems) {
		return func(p *problems) { checkLimits(p, &v1alpha1.RemediationStrategySpec{MaxPerNamespace: &n}) }
	}
	named := func(length int) func(p *problems) {
		metric := v1alpha1.AnalysisMetric{Name: strings.Repeat("n", length), Query: "up",
			SuccessCondition: "sample > 0.0"}
		return func(p *problems) {
			checkAnalysis(p, &v1alpha1.AnalysisStrategy{Metrics: []v1alpha1.AnalysisMetric{metric}})
		}
	}
	stage := func(length int) func(p *problems) {
		chosen := v1alpha1.TargetSelector{
			ObjectSelector: &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"a": "b"}}}
		return func(p *problems) {
			checkStages(p, []v1alpha1.RolloutStage{{Name: strings.Repeat("n", length), Selector: chosen}})
		}
	}
	lasting := func(d time.Duration) func(p *problems) {
		return func(p *problems) { p.addErr("f", checkWindowDuration(d)) }
	}
	type probe = struct {
		check func(p *problems)
		want  bool
	}
	for name, tc := range map[string]probe{
		"none in a namespace": {count(0), false}, "one in a namespace": {count(1), true},
		"as many as may be in a namespace": {count(maxPerNamespace), true},
		"one too many in a namespace":      {count(maxPerNamespace + 1), false},
		"the longest name of a metric":     {named(maxMetricName), true},
		"a longer name of a metric":        {named(maxMetricName + 1), false},
		"the longest name of a stage":      {stage(maxStageName), true},
		"a longer name of a stage":         {stage(maxStageName + 1), false},
		"the shortest window":              {lasting(minWindow), true},
		"a shorter window":                 {lasting(minWindow - 1), false},
		"the longest window":               {lasting(maxWindow), true},
		"a longer window":                  {lasting(maxWindow + 1), false},
	} {
		cases[name] = tc
	}
	for name, tc := range cases {
		var p problems
		if tc.check(&p); (len(p) == 0) != tc.want {
			t.Errorf("%s: %v, want right: %t", name, p, tc.want)
		}
	}
}

// The longest times and the largest numbers that a strategy may name are what the documentation says.
func TestTheLimitsOfAStrategy(t *testing.T) {
	const day = 24 * time.Hour
	got := []time.Duration{maxSoak, maxProgressDeadline, maxApprovalTimeout, maxEscalation, maxHistoryAge,
		minBreakerWindow, maxBreakerWindow,
		maxWindow, closesHorizon, BaselineAge}
	want := []time.Duration{7 * day, day, 30 * day, 7 * day, 1825 * day, 6 * time.Second, day, 7 * day, day,
		5 * time.Minute}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestASelectorAsText(t *testing.T) {
	one := &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"a": "b"},
		MatchExpressions: []v1alpha1.LabelSelectorRequirement{{Key: "c", Operator: metav1.LabelSelectorOpExists}}}
	for _, tc := range []struct {
		s    v1alpha1.TargetSelector
		want string
	}{
		{v1alpha1.TargetSelector{}, ""}, {v1alpha1.TargetSelector{NamespaceSelector: one}, "namespaces with a=b,c"},
		{v1alpha1.TargetSelector{NamespaceSelector: one, ObjectSelector: one},
			"namespaces with a=b,c, objects with a=b,c"},
	} {
		if got := SelectorText(tc.s); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

func TestUnsetSamplesAndIntervalsAreTheDefaults(t *testing.T) {
	unset := v1alpha1.PlannedMetric{}
	if samples(unset) != v1alpha1.DefaultAnalysisSamples || interval(unset) != v1alpha1.DefaultAnalysisInterval {
		t.Errorf("unset: %d samples in %s each, want the defaults", samples(unset), interval(unset))
	}
	one := v1alpha1.PlannedMetric{Samples: 1, Interval: metav1.Duration{Duration: 1}}
	if samples(one) != 1 || interval(one) != 1 {
		t.Errorf("set: %d samples in %s each, want 1 and 1ns", samples(one), interval(one))
	}
}

// An answer of this very moment serves as a baseline.
func TestABaselineOfNow(t *testing.T) {
	now := []v1alpha1.MetricRecord{WithBaseline(1, metric(comparing), MetricAnswer{Value: 1}, asked)}
	if !Baselined([]v1alpha1.PlannedMetric{metric(comparing)}, now, 1, asked) {
		t.Error("it is asked for again")
	}
}

func TestANegatedSample(t *testing.T) {
	condition, err := ParseCondition("-sample < -3.0")
	if err != nil {
		t.Fatal(err)
	}
	for sample, want := range map[float64]bool{4: true, 2: false} {
		if got, err := condition.Met(sample, 0); got != want || err != nil {
			t.Errorf("%v: got %t, %v, want %t", sample, got, err, want)
		}
	}
}

// waves have so many targets each.
func waves(targets ...int32) []v1alpha1.PlannedWave {
	out := make([]v1alpha1.PlannedWave, len(targets))
	for i, n := range targets {
		out[i].Targets = n
	}
	return out
}

func TestHoldsAndCanaries(t *testing.T) {
	s := Stage{First: 2, End: 4}
	l := Layout{Waves: waves(1, 2, 1, 2), Stages: []v1alpha1.PlannedStage{{Name: "a"}, {Name: "b", FirstWave: 2}}}
	for wave, want := range []struct{ holds, canary bool }{{false, true}, {false, false}, {true, true}, {true, false},
		{false, false}} {
		if holds, is := s.Holds(int32(wave)), l.IsCanary(int32(wave)); holds != want.holds || is != want.canary {
			t.Errorf("wave %d: held %t, a canary %t, want %+v", wave, holds, is, want)
		}
	}
	if !(Layout{Waves: waves(3)}).IsCanary(0) {
		t.Error("the first wave of a plan without stages is its canary")
	}
}

func TestRoomIsTakenOneByOne(t *testing.T) {
	room := RoomFor([]PlanAtWork{{Name: "a", MaxInFlight: 2, MaxPerNamespace: 1}, {Name: "b", MaxInFlight: 2}})
	got := []string{room.Take("shop"), room.Take("shop"), room.Take("cart"), room.Take("bank")}
	want := []string{"",
		"maxPerNamespace of plan a allows 1 in flight in one namespace over all plans; 1 are in shop", "",
		"maxTotalInFlight of plan a allows 2 in flight over all plans; 2 are"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("of equal limits the first is named: -want +got\n%s", diff)
	}
}

func TestAPlanOfAsManyWavesAsMayBe(t *testing.T) {
	for more, split := range map[int32]bool{0: true, 1: false} {
		l := Layout{Waves: waves(1, 2*(v1alpha1.MaxWaves-1+more))}
		if got := l.Split(2); (len(got.Waves) == v1alpha1.MaxWaves) != split || (len(got.Waves) == 2) == split {
			t.Errorf("%d waves too many: got %d waves, want split: %t", more, len(got.Waves), split)
		}
	}
}

func TestTheLargestRollout(t *testing.T) {
	s := &v1alpha1.RemediationStrategySpec{}
	s.SetDefaults()
	if waves, err := Waves(math.MaxInt32, s.Steps); err != nil || len(waves) == 0 {
		t.Errorf("got %v, %v, want every target in a wave", waves, err)
	}
	if _, err := Waves(math.MaxInt32+1, s.Steps); err == nil {
		t.Error("a larger one isn't refused")
	}
}

func TestTheFirstKnownHealthRule(t *testing.T) {
	first := KnownHealth()[0]
	if got, known := HealthRuleFor(nil, first.APIGroup, first.Kind); !known || got.Current != first.Current {
		t.Errorf("got %+v, %t, want %+v", got, known, first)
	}
}

// Windows that join are followed past a day from now, and no further.
func TestHowFarJoinedWindowsAreFollowed(t *testing.T) {
	const day = 24 * time.Hour
	daily := v1alpha1.PlannedWindow{Schedule: "0 0 * * *", Duration: metav1.Duration{Duration: day},
		TimeZone: "UTC"}
	midnight := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for after, want := range map[time.Duration]time.Duration{0: 2 * day, time.Hour: 2 * day, -time.Hour: day} {
		got, err := WindowState([]v1alpha1.PlannedWindow{daily}, midnight.Add(after))
		if err != nil || !got.Closes.Equal(midnight.Add(want)) {
			t.Errorf("%s after midnight it closes at %s, %v, want %s after", after, got.Closes, err, want)
		}
	}
}

// A canary that is as small as it may be stays, and no empty wave follows it.
func TestAFirstCanaryThatIsSmallEnoughStays(t *testing.T) {
	for most, want := range map[int32][]int32{2: {2, 1}, 3: {3}, 4: {3}} {
		if diff := cmp.Diff(want, Targets(shrinkFirst(waves(3), most))); diff != "" {
			t.Errorf("at most %d: -want +got\n%s", most, diff)
		}
	}
}

func TestTheLimitsOfAPlan(t *testing.T) {
	share := func(text string) *intstr.IntOrString {
		v := intstr.Parse(text)
		return &v
	}
	for text, want := range map[string]int32{"3": 3, "100": 100, "10%": 3, "1%": 1, "100%": 39, "0": 0, "0%": 0,
		"110%": 0,
		"half": 0, "101": 100} {
		got := Rollout(v1alpha1.PolicyRemediation{}, &v1alpha1.RemediationStrategySpec{MaxInFlight: share(text)}, 39)
		if got.MaxInFlight != want {
			t.Errorf("%s of 39: got %d, want %d", text, got.MaxInFlight, want)
		}
	}
	many := Rollout(v1alpha1.PolicyRemediation{}, &v1alpha1.RemediationStrategySpec{MaxInFlight: share("50%")}, 9000)
	if many.MaxInFlight != maxInFlight {
		t.Errorf("of many: got %d, want %d", many.MaxInFlight, maxInFlight)
	}
	for asked, want := range map[int32]int32{-1: -1, 0: -1, 1: 1, 7: 7} {
		s := &v1alpha1.RemediationStrategySpec{MaxPerNamespace: &asked}
		if got := Rollout(v1alpha1.PolicyRemediation{}, s, 1).MaxPerNamespace; got != want {
			t.Errorf("in a namespace %d: got %d, want %d", asked, got, want)
		}
	}
	none := Rollout(v1alpha1.PolicyRemediation{}, &v1alpha1.RemediationStrategySpec{}, 1)
	if none.MaxPerNamespace != 0 || none.MaxInFlight != v1alpha1.DefaultMaxInFlight {
		t.Errorf("unset: got %+v", none)
	}
}
