// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func share(text string) *intstr.IntOrString {
	v := intstr.Parse(text)
	return &v
}

func TestFloorsAreValidated(t *testing.T) {
	cases := map[string]struct {
		floors Floors
		want   string // of the error; empty: none
	}{
		"nothing asked for": {},
		"all asked for": {
			floors: Floors{MaxMode: "Manual", DistinctApprover: true, SourcesReviewed: true, MaxWave: share("10%"),
				MaxInFlight: 5, MaxUnavailable: share("3"), MinSoak: time.Hour}},
		"a mode that there isn't": {
			floors: Floors{MaxMode: "Sometimes"},
			want:   `--remediation-max-mode "Sometimes": must be Automatic, Manual, DryRun or Disabled`},
		"a wave of nothing": {
			floors: Floors{MaxWave: share("0")}, want: `--remediation-max-wave "0": must be a count of at least 1`},
		"a wave of more than all": {
			floors: Floors{MaxWave: share("101%")}, want: `--remediation-max-wave "101%"`},
		"a wave in words": {
			floors: Floors{MaxWave: share("few")}, want: `--remediation-max-wave "few"`},
		"a share of nothing": {
			floors: Floors{MaxUnavailable: share("0%")}, want: `--remediation-max-unavailable "0%"`},
		"a share below nothing": {
			floors: Floors{MaxUnavailable: share("-1")}, want: `--remediation-max-unavailable "-1"`},
		"more at a time than a policy may": {
			floors: Floors{MaxInFlight: 101}, want: "--remediation-max-in-flight 101: must be from 1 to 100"},
		"a soak without end": {
			floors: Floors{MinSoak: 200 * time.Hour},
			want:   "--remediation-min-soak 200h0m0s: must be from 0 to 168h0m0s"},
		"a soak before it began": {floors: Floors{MinSoak: -time.Second}, want: "--remediation-min-soak -1s"},
		"a review that nobody asks for": {
			floors: Floors{SourcesReviewed: true},
			want:   "means nothing without --remediation-require-distinct-approver"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := tc.floors.Validate()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestStrategyWithinFloors(t *testing.T) {
	strategy := func(change func(*v1alpha1.RolloutStrategy)) v1alpha1.RolloutStrategy {
		s := v1alpha1.RolloutStrategy{
			Mode: v1alpha1.RemediationAutomatic,
			RemediationStrategySpec: v1alpha1.RemediationStrategySpec{
				MaxInFlight: 10, Soak: &metav1.Duration{Duration: time.Minute}}}
		if change != nil {
			change(&s)
		}
		return s
	}
	unavailable := func(text string) func(*v1alpha1.RolloutStrategy) {
		return func(s *v1alpha1.RolloutStrategy) {
			s.Budget = &v1alpha1.BudgetStrategy{MaxUnavailable: share(text)}
		}
	}
	cases := map[string]struct {
		reason string
		floors Floors
		asked  v1alpha1.RolloutStrategy
		total  int
		want   v1alpha1.RolloutStrategy
		says   []string
	}{
		"without flags a policy gets what it asks for": {asked: strategy(nil), want: strategy(nil), total: 10},
		"Automatic becomes Manual where that is the most": {floors: Floors{MaxMode: "Manual"}, asked: strategy(nil),
			total: 10,
			want:  strategy(func(s *v1alpha1.RolloutStrategy) { s.Mode = "Manual" }),
			says: []string{
				"mode: the policy asks for Automatic, the administrator allows Manual (--remediation-max-mode)"}},
		"a policy may do less": {floors: Floors{MaxMode: "Manual"}, total: 10,
			asked: strategy(func(s *v1alpha1.RolloutStrategy) { s.Mode = "DryRun" }),
			want:  strategy(func(s *v1alpha1.RolloutStrategy) { s.Mode = "DryRun" })},
		"a person is needed who hasn't written the policy": {floors: Floors{MaxMode: "Manual", DistinctApprover: true},
			asked: strategy(nil), total: 10,
			reason: "it is asked for when the answer is judged, so that it is known who asks",
			want:   strategy(func(s *v1alpha1.RolloutStrategy) { s.Mode = "Manual" }),
			says: []string{"mode: the policy asks for Automatic", "approval.requireDistinctApprover: the policy " +
				"asks for false, the administrator allows true (--remediation-require-distinct-approver)"}},
		"what is written at a time is capped": {floors: Floors{MaxInFlight: 3}, asked: strategy(nil), total: 10,
			want: strategy(func(s *v1alpha1.RolloutStrategy) { s.MaxInFlight = 3 }),
			says: []string{"maxInFlight: the policy asks for 10, the administrator allows 3"}},
		"the soak is as long as it must be, the canary's too": {floors: Floors{MinSoak: time.Hour}, total: 10,
			asked: strategy(func(s *v1alpha1.RolloutStrategy) {
				s.Canary.Soak = &metav1.Duration{Duration: time.Second}
			}),
			want: strategy(func(s *v1alpha1.RolloutStrategy) {
				s.Soak, s.Canary.Soak = &metav1.Duration{Duration: time.Hour}, &metav1.Duration{Duration: time.Hour}
			}), says: []string{"soak: the policy asks for 1m0s, the administrator allows 1h0m0s",
				"canary.soak: the policy asks for 1s"}},
		"a budget is set where there is none": {floors: Floors{MaxUnavailable: share("10%")}, asked: strategy(nil),
			total: 10,
			want:  strategy(unavailable("10%")),
			says:  []string{"budget.maxUnavailable: the policy asks for none, the administrator allows 10%"}},
		"a count and a percentage are compared by what they mean": {
			floors: Floors{MaxUnavailable: share("10%")}, asked: strategy(unavailable("2")), total: 10,
			want: strategy(unavailable("10%")), says: []string{"the policy asks for 2, the administrator allows 10%"}},
		"the tighter one stays": {
			floors: Floors{MaxUnavailable: share("10%")}, asked: strategy(unavailable("2")), total: 30,
			want: strategy(unavailable("2"))},
		"a budget that can't be read allows nothing": {
			floors: Floors{MaxUnavailable: share("10%")}, asked: strategy(unavailable("half")), total: 30,
			want: strategy(unavailable("half"))},
		"what can't be compared yet isn't": {
			floors: Floors{MaxUnavailable: share("10%")}, asked: strategy(unavailable("2")),
			want: strategy(unavailable("2"))},
		"percentages are compared however many there are": {
			floors: Floors{MaxUnavailable: share("10%")}, asked: strategy(unavailable("11%")),
			want: strategy(unavailable("10%")), says: []string{"asks for 11%"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			asked := *tc.asked.DeepCopy()
			got, changed := tc.floors.Strategy(tc.asked, tc.total)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(asked, tc.asked); diff != "" {
				t.Errorf("what was given is changed\n%s", diff)
			}
			if len(changed) != len(tc.says) {
				t.Fatalf("says %v, want %v", changed, tc.says)
			}
			for i, says := range tc.says {
				if !strings.Contains(changed[i].String(), says) {
					t.Errorf("says %q, want %q", changed[i], says)
				}
			}
		})
	}
}

func drawStrategy(t *rapid.T) v1alpha1.RolloutStrategy {
	s := v1alpha1.RolloutStrategy{Mode: rapid.SampledFrom(modes()).Draw(t, "mode"),
		RemediationStrategySpec: v1alpha1.RemediationStrategySpec{
			MaxInFlight: rapid.Int32Range(1, 100).Draw(t, "maxInFlight"),
			Soak:        &metav1.Duration{Duration: time.Duration(rapid.IntRange(0, 9).Draw(t, "soak")) * time.Minute}}}
	if rapid.Bool().Draw(t, "canary soaks by itself") {
		s.Canary.Soak = &metav1.Duration{
			Duration: time.Duration(rapid.IntRange(0, 9).Draw(t, "canary.soak")) * time.Minute}
	}
	if rapid.Bool().Draw(t, "has a budget") {
		s.Budget = &v1alpha1.BudgetStrategy{MaxUnavailable: drawShare(t, "maxUnavailable")}
	}
	return s
}

func drawShare(t *rapid.T, label string) *intstr.IntOrString {
	return rapid.SampledFrom(
		[]*intstr.IntOrString{nil, share("1"), share("7"), share("1000"), share("1%"), share("30%"),
			share("100%")}).Draw(t, label)
}

func drawFloors(t *rapid.T) Floors {
	return Floors{MaxMode: rapid.SampledFrom(append(modes(), "")).Draw(t, "max mode"),
		MaxWave: drawShare(t, "max wave"), MaxUnavailable: drawShare(t, "max unavailable"),
		MaxInFlight: rapid.Int32Range(0, 20).Draw(t, "max concurrent"),
		MinSoak:     time.Duration(rapid.IntRange(0, 9).Draw(t, "min soak")) * time.Minute}
}

// Whatever a policy asks for, it gets no more than the administrator allows, and never
// more than it asks for; asked once more, nothing changes.
func TestNoPolicyWidensTheFloors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, asked, total := drawFloors(t), drawStrategy(t), rapid.IntRange(1, 5000).Draw(t, "targets")
		got, changed := f.Strategy(asked, total)
		rank := map[v1alpha1.RemediationMode]int{}
		for i, mode := range modes() {
			rank[mode] = i
		}
		unavailable := func(s v1alpha1.RolloutStrategy) int {
			if s.Budget == nil || s.Budget.MaxUnavailable == nil {
				return total
			}
			return min(shareOf(*s.Budget.MaxUnavailable, total), total)
		}
		canarySoak := func(s v1alpha1.RolloutStrategy) time.Duration {
			if s.Canary.Soak != nil {
				return s.Canary.Soak.Duration
			}
			return s.EffectiveSoak()
		}
		switch {
		case f.MaxMode != "" && rank[got.Mode] > rank[f.MaxMode], rank[got.Mode] > rank[asked.Mode]:
			t.Fatalf("mode %s of %s under %s", got.Mode, asked.Mode, f.MaxMode)
		case f.MaxInFlight > 0 && got.MaxInFlight > f.MaxInFlight, got.MaxInFlight > asked.MaxInFlight:
			t.Fatalf("maxInFlight %d of %d under %d", got.MaxInFlight, asked.MaxInFlight, f.MaxInFlight)
		case got.EffectiveSoak() < f.MinSoak, got.EffectiveSoak() < asked.EffectiveSoak(), canarySoak(got) < f.MinSoak,
			canarySoak(got) < canarySoak(asked):
			t.Fatalf("soak %s, of the canary %s, under %s", got.Soak, canarySoak(got), f.MinSoak)
		case f.MaxUnavailable != nil && unavailable(got) > shareOf(*f.MaxUnavailable, total),
			unavailable(got) > unavailable(asked):
			t.Fatalf("in flight %d of %d under %s", unavailable(got), unavailable(asked), f.MaxUnavailable)
		case f.MaxWave != nil && (f.Wave(total) < 1 || f.Wave(total) > shareOf(*f.MaxWave, total)):
			t.Fatalf("a wave of %d under %s", f.Wave(total), f.MaxWave)
		}
		again, more := f.Strategy(got, total)
		if diff := cmp.Diff(got, again); diff != "" || len(more) > 0 {
			t.Fatalf("asked once more: %v\n%s", more, diff)
		}
		if diff := cmp.Diff(asked, got); (diff != "") != (len(changed) > 0) {
			t.Fatalf("what is told, %v, isn't what was changed\n%s", changed, diff)
		}
	})
}
