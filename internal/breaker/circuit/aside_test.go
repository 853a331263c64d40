// SPDX-License-Identifier: Apache-2.0

package circuit_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
)

// ended is how a plan ended ago, with the namespaces in which it failed.
func ended(ago time.Duration, reason string, in ...string) v1alpha1.RemediationStatus {
	s := v1alpha1.RemediationStatus{Phase: v1alpha1.PhaseRolledBack, Reason: reason, FailedIn: in,
		CompletionTime: at(-ago)}
	switch reason {
	case v1alpha1.ReasonAllTargetsSettled:
		s.Phase = v1alpha1.PhaseSucceeded
	case v1alpha1.ReasonNoViableCanary:
		s.Phase, s.Counts.Failed = v1alpha1.PhaseAborted, v1alpha1.MaxCanaryFailures
	}
	return s
}

func TestStand(t *testing.T) {
	const failed, silent, well, m = v1alpha1.ReasonVerificationFailed, v1alpha1.ReasonNoAnswer,
		v1alpha1.ReasonAllTargetsSettled, time.Minute
	type ends = []v1alpha1.RemediationStatus
	type asides = map[string]circuit.Aside
	forGood := func(end int) circuit.Aside { return circuit.Aside{End: end} }
	cases := map[string]struct {
		reason string
		ends   ends
		want   circuit.Standing
	}{
		"No plan yet": {"Nothing is in the way.", nil, circuit.Standing{Blocks: -1}},
		"One that failed in one namespace": {
			"Whoever edits it may have made it fail.", ends{ended(m, failed, "eve")},
			circuit.Standing{Blocks: -1, Aside: asides{"eve": forGood(0)}}},
		"It is remembered after a good one": {
			"Nothing has changed there.", ends{ended(2*m, failed, "eve"), ended(m, well)},
			circuit.Standing{Blocks: -1, Aside: asides{"eve": forGood(0)}}},
		"Two, in two namespaces": {
			"The fix is at fault.", ends{ended(3*m, failed, "eve"), ended(2*m, well), ended(m, failed, "shop")},
			circuit.Standing{Blocks: 2, Aside: asides{"eve": forGood(0), "shop": forGood(2)}}},
		"One that failed in two at once": {"The fix is at fault.", ends{ended(m, failed, "eve", "shop")},
			circuit.Standing{Blocks: 0}},
		"One that failed in cluster scope": {"Nobody owns that like a namespace.", ends{ended(m, failed, "")},
			circuit.Standing{Blocks: 0}},
		"One of an earlier version": {"Nobody knows where.", ends{ended(m, failed)},
			circuit.Standing{Blocks: 0}},
		"One that a person ended": {"It is a person's word.", ends{ended(m, v1alpha1.ReasonAborted, "eve")},
			circuit.Standing{Blocks: 0}},
		"One whose candidates failed in one": {
			"Whoever edits it may have made it so.", ends{ended(m, v1alpha1.ReasonNoViableCanary, "eve")},
			circuit.Standing{Blocks: -1, Aside: asides{"eve": forGood(0)}}},
		"A blocked one that isn't the latest": {"A person has said to go on.", ends{ended(2*m, failed), ended(m, well)},
			circuit.Standing{Blocks: -1}},
		"Silence in one namespace": {"The others needn't wait.", ends{ended(0, silent, "eve")},
			circuit.Standing{Blocks: -1, Aside: asides{"eve": {End: 0, Until: start.Add(m)}}}},
		"Silence there again": {
			"Twice as long.", ends{ended(5*m, silent, "eve"), ended(4*m, well), ended(0, silent, "eve")},
			circuit.Standing{Blocks: -1, Aside: asides{"eve": {End: 2, Until: start.Add(2 * m)}}}},
		"Silence there, long ago": {"It has waited.", ends{ended(2*m, silent, "eve")},
			circuit.Standing{Blocks: -1}},
		"Silence in two": {"An outage.", ends{ended(m/2, silent, "eve"), ended(0, silent, "shop")},
			circuit.Standing{Blocks: -1, Wait: 2 * m,
				Aside: asides{"eve": {End: 0, Until: start.Add(m / 2)}, "shop": {End: 1, Until: start.Add(m)}}}},
		"Silence, nobody knows where": {
			"An outage.", ends{ended(0, silent)}, circuit.Standing{Blocks: -1, Wait: m}},
		"Silence where one has failed": {
			"It waits for a person.", ends{ended(m, failed, "eve"), ended(0, silent, "eve")},
			circuit.Standing{Blocks: -1, Aside: asides{"eve": forGood(0)}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.want.Aside == nil {
				tc.want.Aside = asides{}
			}
			if diff := cmp.Diff(tc.want, circuit.Stand(tc.ends, start)); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

// Whatever one namespace makes of a revision's plans, the others are planned, at once.
// Two failed plans that blame different namespaces end it, whatever lies between.
func TestOneNamespaceBlocksNoRevision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reasons := []string{v1alpha1.ReasonVerificationFailed, v1alpha1.ReasonAnalysisFailed,
			v1alpha1.ReasonNoViableCanary, v1alpha1.ReasonNoAnswer}
		var ends []v1alpha1.RemediationStatus
		for ago := rapid.IntRange(0, 40).Draw(t, "plans"); ago > 0; ago-- {
			end := ended(time.Duration(ago)*time.Minute, v1alpha1.ReasonAllTargetsSettled)
			if rapid.Bool().Draw(t, "fails") {
				end = ended(time.Duration(ago)*time.Minute, rapid.SampledFrom(reasons).Draw(t, "reason"), "eve")
			}
			ends = append(ends, end)
		}
		s := circuit.Stand(ends, start)
		if _, eve := s.Aside["eve"]; s.Blocks >= 0 || s.Wait != 0 || len(s.Aside) > 1 || len(s.Aside) == 1 && !eve {
			t.Fatalf("eve alone makes %+v", s)
		}
		if blames := slices.ContainsFunc(ends, v1alpha1.RemediationStatus.BlocksReplanning); blames {
			s = circuit.Stand(append(ends, ended(0, rapid.SampledFrom(reasons[:3]).Draw(t, "elsewhere"), "shop")),
				start)
			if s.Blocks < 0 {
				t.Fatalf("two namespaces block nothing: %+v", s)
			}
		}
	})
}

func TestFault(t *testing.T) {
	cases := map[string]struct {
		reason string
		failed map[string]int
		want   []string
	}{
		"All in one namespace": {"Its editor may have made them so.", map[string]int{"eve": 10},
			[]string{"eve"}},
		"Few elsewhere": {"Without those of one namespace they'd be too few to speak against the fix.",
			map[string]int{"eve": 6, "bank": 2, "shop": 2}, []string{"eve"}},
		"Half of them elsewhere": {"The fix is at fault.", map[string]int{"eve": 5, "shop": 5},
			[]string{"eve", "shop"}},
		"One each": {
			"The fix is at fault.", map[string]int{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1},
			[]string{"a", "b", "c", "d", "e", "f"}},
		"All in cluster scope": {"Nobody owns that like a namespace.", map[string]int{"": 10}, []string{""}},
		"None":                 {"Nothing to blame.", nil, nil},
		"Two that have failed so few": {"The first by its name, so that it is the same each time.",
			map[string]int{"b": 1, "a": 1}, []string{"a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, circuit.Fault(tc.failed)); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}
