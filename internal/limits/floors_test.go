// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"slices"
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
				MaxInFlight: 5, MaxTotalInFlight: share("3"), MinSoak: time.Hour}},
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
			floors: Floors{MaxTotalInFlight: share("0%")}, want: `--remediation-max-total-in-flight "0%"`},
		"a share below nothing": {
			floors: Floors{MaxTotalInFlight: share("-1")}, want: `--remediation-max-total-in-flight "-1"`},
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

func TestARolloutWithinFloors(t *testing.T) {
	rollout := func(change func(*v1alpha1.PlannedRollout)) v1alpha1.PlannedRollout {
		r := v1alpha1.PlannedRollout{Mode: v1alpha1.RemediationAutomatic, MaxInFlight: 10}
		if change != nil {
			change(&r)
		}
		return r
	}
	mode := func(m v1alpha1.RemediationMode) v1alpha1.PlannedRollout {
		return rollout(func(r *v1alpha1.PlannedRollout) { r.Mode = m })
	}
	total := func(n int32) v1alpha1.PlannedRollout {
		return rollout(func(r *v1alpha1.PlannedRollout) { r.MaxTotalInFlight = n })
	}
	soaking := func(soaks ...time.Duration) []v1alpha1.PlannedWave {
		waves := make([]v1alpha1.PlannedWave, len(soaks))
		for i, soak := range soaks {
			waves[i] = v1alpha1.PlannedWave{Targets: 1, Soak: metav1.Duration{Duration: soak}}
		}
		return waves
	}
	cases := map[string]struct {
		reason       string
		floors       Floors
		asked        v1alpha1.PlannedRollout
		writable     int
		want         v1alpha1.PlannedRollout
		waves, slows []v1alpha1.PlannedWave
		says         []string
	}{
		"without flags a policy gets what it asks for": {asked: rollout(nil), want: rollout(nil), writable: 10},
		"Automatic becomes Manual where that is the most": {floors: Floors{MaxMode: "Manual"}, asked: rollout(nil),
			want: mode("Manual"),
			says: []string{
				"mode: the policy asks for Automatic, the administrator allows Manual (--remediation-max-mode)"}},
		"a policy may do less": {floors: Floors{MaxMode: "Manual"}, asked: mode("DryRun"), want: mode("DryRun")},
		"a person is needed who hasn't written the policy": {floors: Floors{MaxMode: "Manual", DistinctApprover: true},
			asked:  rollout(nil),
			reason: "it is asked for when the answer is judged, so that it is known who asks", want: mode("Manual"),
			says: []string{"mode: the policy asks for Automatic", "approval.requireDistinctApprover: the policy " +
				"asks for false, the administrator allows true (--remediation-require-distinct-approver)"}},
		"what is written at a time is capped": {floors: Floors{MaxInFlight: 3}, asked: rollout(nil),
			want: rollout(func(r *v1alpha1.PlannedRollout) { r.MaxInFlight = 3 }),
			says: []string{"maxInFlight: the policy asks for 10, the administrator allows 3"}},
		"every soak is as long as it must be": {floors: Floors{MinSoak: time.Hour}, asked: rollout(nil),
			want: rollout(nil), waves: soaking(time.Second, 2*time.Hour, time.Minute),
			slows: soaking(time.Hour, 2*time.Hour, time.Hour),
			says:  []string{"soak: the policy asks for 1s, the administrator allows 1h0m0s"}},
		"a soak that is long enough stays": {floors: Floors{MinSoak: time.Hour}, asked: rollout(nil),
			want: rollout(nil), waves: soaking(time.Hour), slows: soaking(time.Hour)},
		"what is in flight over all plans is a share of the plan's targets": {reason: "the strategy names none",
			floors: Floors{MaxTotalInFlight: share("10%")}, asked: rollout(nil), writable: 39, want: total(3)},
		"the tighter one stays": {reason: "the flags have changed since",
			floors: Floors{MaxTotalInFlight: share("10%")}, asked: total(2), writable: 39, want: total(2)},
		"one that is looser by now is tightened": {
			floors: Floors{MaxTotalInFlight: share("1")}, asked: total(2), writable: 39, want: total(1)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			waves := slices.Clone(tc.waves)
			got, slowed, changed := tc.floors.Rollout(tc.asked, tc.waves, tc.writable)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.slows, slowed); diff != "" {
				t.Errorf("waves (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(waves, tc.waves); diff != "" {
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

func drawShare(t *rapid.T, label string) *intstr.IntOrString {
	return rapid.SampledFrom(
		[]*intstr.IntOrString{nil, share("1"), share("7"), share("1000"), share("1%"), share("30%"),
			share("100%")}).Draw(t, label)
}

func drawFloors(t *rapid.T) Floors {
	return Floors{MaxMode: rapid.SampledFrom(append(modes(), "")).Draw(t, "max mode"),
		MaxWave: drawShare(t, "max wave"), MaxTotalInFlight: drawShare(t, "max total"),
		MaxInFlight: rapid.Int32Range(0, 20).Draw(t, "max concurrent"),
		MinSoak:     time.Duration(rapid.IntRange(0, 9).Draw(t, "min soak")) * time.Minute}
}

// Whatever a policy asks for, it gets no more than the administrator allows, and never
// more than it asks for; asked once more, nothing changes.
func TestNoPolicyWidensTheFloors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, total := drawFloors(t), rapid.IntRange(1, 5000).Draw(t, "targets")
		asked := v1alpha1.PlannedRollout{Mode: rapid.SampledFrom(modes()).Draw(t, "mode"),
			MaxInFlight:      rapid.Int32Range(1, 100).Draw(t, "maxInFlight"),
			MaxTotalInFlight: rapid.Int32Range(0, 9).Draw(t, "in all")}
		soak := time.Duration(rapid.IntRange(0, 9).Draw(t, "soak")) * time.Minute
		waves := []v1alpha1.PlannedWave{{Targets: 1, Soak: metav1.Duration{Duration: soak}}}
		got, slowed, changed := f.Rollout(asked, waves, total)
		rank := map[v1alpha1.RemediationMode]int{}
		for i, mode := range modes() {
			rank[mode] = i
		}
		inAll := func(r v1alpha1.PlannedRollout) int {
			if r.MaxTotalInFlight == 0 {
				return v1alpha1.MaxTargets
			}
			return int(r.MaxTotalInFlight)
		}
		switch {
		case f.MaxMode != "" && rank[got.Mode] > rank[f.MaxMode], rank[got.Mode] > rank[asked.Mode]:
			t.Fatalf("mode %s of %s under %s", got.Mode, asked.Mode, f.MaxMode)
		case f.MaxInFlight > 0 && got.MaxInFlight > f.MaxInFlight, got.MaxInFlight > asked.MaxInFlight:
			t.Fatalf("maxInFlight %d of %d under %d", got.MaxInFlight, asked.MaxInFlight, f.MaxInFlight)
		case slowed[0].Soak.Duration != max(soak, f.MinSoak):
			t.Fatalf("soak %s of %s under %s", slowed[0].Soak, soak, f.MinSoak)
		case f.MaxTotalInFlight != nil && inAll(got) > shareOf(*f.MaxTotalInFlight, total), inAll(got) > inAll(asked):
			t.Fatalf("in flight %d of %d under %s", inAll(got), inAll(asked), f.MaxTotalInFlight)
		case f.MaxWave != nil && (f.Wave(total) < 1 || f.Wave(total) > shareOf(*f.MaxWave, total)):
			t.Fatalf("a wave of %d under %s", f.Wave(total), f.MaxWave)
		}
		again, slower, more := f.Rollout(got, slowed, total)
		if diff := cmp.Diff(got, again) + cmp.Diff(slowed, slower); diff != "" || len(more) > 0 {
			t.Fatalf("asked once more: %v\n%s", more, diff)
		}
		asked.MaxTotalInFlight = got.MaxTotalInFlight // the administrator's own
		if diff := cmp.Diff(asked, got) + cmp.Diff(waves, slowed); (diff != "") != (len(changed) > 0) {
			t.Fatalf("what is told, %v, isn't what was changed\n%s", changed, diff)
		}
	})
}
