// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/remediate/history"
	"evenkeel.dev/evenkeel/test/breakertest"
	"evenkeel.dev/evenkeel/test/fixtest"
)

// oldPlan is a plan that ended some time ago; a negative age is one at work.
type oldPlan struct {
	age  time.Duration
	done int32
	// phase is Succeeded unless set.
	phase v1alpha1.RemediationPhase
	going bool
}

func TestBeyondHistory(t *testing.T) {
	const day = 24 * time.Hour
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	many := func(n int, p oldPlan) []oldPlan {
		out := make([]oldPlan, n)
		for i := range out {
			out[i] = p
		}
		return out
	}
	for name, tc := range map[string]struct {
		reason  string
		plans   []oldPlan // oldest first, named plan-0 and so on
		limit   int32
		maxAge  time.Duration
		retried string
		want    []string
		next    time.Duration
	}{
		"No plan is no history": {reason: "a new policy", limit: 2, maxAge: day},
		"The oldest beyond the limit go": {
			reason: "two ended plans are kept",
			plans:  []oldPlan{{age: 8 * time.Hour}, {age: 7 * time.Hour}, {age: 6 * time.Hour}, {age: 5 * time.Hour}},
			limit:  2, maxAge: day, want: []string{"plan-1", "plan-0"}, next: 18 * time.Hour,
		},
		"A plan that is too old goes, however few there are": {
			reason: "the latest stays",
			plans: []oldPlan{{age: 50 * time.Hour}, {age: 25 * time.Hour}, {age: 23 * time.Hour},
				{age: 22 * time.Hour}},
			limit: 10, maxAge: day, want: []string{"plan-1", "plan-0"}, next: time.Hour,
		},
		"The latest plan stays for ever": {
			reason: "it says whether the revision may be tried again", plans: []oldPlan{{age: 100 * day}}, limit: 1,
			maxAge: day,
		},
		"A plan at work never goes, and doesn't count": {
			reason: "it isn't history yet",
			plans: []oldPlan{{age: 6 * time.Hour}, {age: 90 * day, phase: v1alpha1.PhaseHeld}, {age: 5 * time.Hour},
				{phase: v1alpha1.PhaseApplying}},
			limit: 1, maxAge: day, want: []string{"plan-0"}, next: 19 * time.Hour,
		},
		"A plan whose fixes are hot stays beyond the limit": {
			reason: "fights would be forgotten",
			plans: []oldPlan{{age: 4 * time.Hour, done: 1}, {age: 3 * time.Hour, done: 1}, {age: 2 * time.Hour},
				{age: time.Hour}},
			limit: 1, maxAge: day, want: []string{"plan-2", "plan-0"}, next: 30 * time.Minute,
		},
		"A dry run heats nothing": {
			reason: "it fixed nothing",
			plans: []oldPlan{{age: 2 * time.Hour, done: 9, phase: v1alpha1.PhasePreviewed},
				{age: time.Hour, done: 9, phase: v1alpha1.PhasePreviewed}},
			limit: 1, maxAge: day, want: []string{"plan-0"},
		},
		"Hot plans are bounded too": {
			reason: "the API server's memory is finite", plans: many(103, oldPlan{age: time.Hour, done: 1}), limit: 1,
			maxAge: day,
			want:   []string{"plan-2", "plan-1", "plan-0"}, next: 150 * time.Minute,
		},
		"The plan that a person named stays": {
			reason: "all before it is forgotten, for as long as it is there",
			plans:  []oldPlan{{age: 6 * time.Hour}, {age: 5 * time.Hour}, {age: 4 * time.Hour}},
			limit:  1, maxAge: day, retried: "plan-0", want: []string{"plan-1"},
		},
		"A plan that is being deleted is left to that": {
			reason: "its writes are undone first",
			plans:  []oldPlan{{age: 6 * time.Hour, going: true}, {age: 5 * time.Hour}}, limit: 1, maxAge: day,
		},
		"A plan that is due in a moment is looked at in a second": {
			reason: "nothing is gained by haste", plans: []oldPlan{{age: day}, {age: time.Hour}}, limit: 5, maxAge: day,
			next: time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var plans []v1alpha1.Remediation
			for i, p := range tc.plans {
				rem := fixtest.Ended(now.Add(-p.age))
				rem.Name, rem.Status.Counts.Done, rem.Status.Phase = fmt.Sprintf("plan-%d", i), p.done,
					v1alpha1.PhaseSucceeded
				if p.phase != "" {
					rem.Status.Phase = p.phase
				}
				if p.going {
					rem.DeletionTimestamp = &metav1.Time{Time: now}
				}
				plans = append(plans, *rem)
			}
			expired, next := history.BeyondHistory(
				plans, v1alpha1.HistoryStrategy{Limit: tc.limit, MaxAge: metav1.Duration{Duration: tc.maxAge}},
				[]string{tc.retried}, now)
			var got []string
			for _, rem := range expired {
				got = append(got, rem.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nto delete: -want +got\n%s", tc.reason, diff)
			}
			if next != tc.next {
				t.Errorf("%s\nthe next one: want after %s, got %s", tc.reason, tc.next, next)
			}
		})
	}
}

// TestNoHistoryIsDeletedByDefaultsOfNobody: the strategy keeps a hundred plans, of which the
// defaults would delete all but ten.
func TestNoHistoryIsDeletedByDefaultsOfNobody(t *testing.T) {
	const made = 30
	cases := map[string]struct {
		reason     string
		change     func(*v1alpha1.ClusterRegoPolicy, *v1alpha1.RemediationStrategy)
		without    bool // the catalog hasn't the strategy
		incomplete bool
		kept       int
		again      bool // it is looked at again soon
	}{
		"the strategy keeps them": {reason: "as it says", kept: made},
		"the strategy keeps fewer": {reason: "as it says", kept: 2,
			change: func(_ *v1alpha1.ClusterRegoPolicy, s *v1alpha1.RemediationStrategy) { s.Spec.History.Limit = 2 }},
		"the policy names none": {reason: "the defaults apply", kept: 10,
			change: func(p *v1alpha1.ClusterRegoPolicy, _ *v1alpha1.RemediationStrategy) {
				p.Spec.Remediation.StrategyRef = nil
			}},
		"somebody deletes the strategy": {reason: "it may be made again", without: true, kept: made, again: true},
		"the strategy is being deleted": {reason: "what it says isn't in force", kept: made, again: true,
			change: func(_ *v1alpha1.ClusterRegoPolicy, s *v1alpha1.RemediationStrategy) {
				s.Spec.History.Limit, s.DeletionTimestamp = 2, &metav1.Time{Time: breakertest.Noon}
			}},
		"the strategy can't be followed": {reason: "what is stored isn't what was meant", kept: made, again: true,
			change: func(_ *v1alpha1.ClusterRegoPolicy, s *v1alpha1.RemediationStrategy) {
				s.Annotations = map[string]string{v1alpha1.AnnotationMalformed: "history: 100"}
				s.Spec = v1alpha1.RemediationStrategySpec{}
			}},
		"the policy refers to another, which isn't there": {reason: "the one in force isn't what is asked for",
			kept: made, again: true,
			change: func(p *v1alpha1.ClusterRegoPolicy, _ *v1alpha1.RemediationStrategy) {
				p.Spec.Remediation.StrategyRef.Name = "elsewhere"
			}},
		"after a restart, before the catalog is complete": {reason: "more is still to be read", incomplete: true,
			kept: made, again: true,
			change: func(p *v1alpha1.ClusterRegoPolicy, _ *v1alpha1.RemediationStrategy) {
				p.Spec.Remediation.StrategyRef = nil
			}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, s := fixtest.Sharing()
			s.Spec.History = v1alpha1.HistoryStrategy{Limit: 100, MaxAge: metav1.Duration{Duration: 2000 * time.Hour}}
			if tc.change != nil {
				tc.change(p, s)
			}
			server, plans := withPlans(t, made)
			c := catalog.New(catalog.Options{})
			if !tc.without {
				if err := c.SetStrategy(s); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Set(p); err != nil {
				t.Fatal(err)
			}
			if !tc.incomplete {
				c.MarkComplete()
			}
			planner := &Planner{drafter: drafter{clock: clocktesting.NewFakePassiveClock(breakertest.Noon)},
				client: server, status: c, interval: time.Minute}
			wait, err := planner.prune(t.Context(), p, plans)
			if err != nil {
				t.Fatal(err)
			}
			var left v1alpha1.RemediationList
			if err := server.List(t.Context(), &left); err != nil {
				t.Fatal(err)
			}
			if len(left.Items) != tc.kept || (wait == planner.interval) != tc.again {
				t.Errorf("%s: %d plans are kept, want %d; looked at again after %s", tc.reason, len(left.Items),
					tc.kept, wait)
			}
		})
	}
}

// withPlans is a server with so many ended plans of one policy, the oldest first.
func withPlans(t *testing.T, n int) (client.Client, []v1alpha1.Remediation) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	server := fake.NewClientBuilder().WithScheme(scheme).Build()
	var plans []v1alpha1.Remediation
	for i := range n {
		rem := fixtest.Ended(breakertest.Noon.Add(time.Duration(i-n) * 10 * time.Hour))
		rem.Name, rem.Status.Phase = fmt.Sprintf("p-%02d", i), v1alpha1.PhaseSucceeded
		if err := server.Create(t.Context(), rem.DeepCopy()); err != nil {
			t.Fatal(err)
		}
		plans = append(plans, *rem)
	}
	return server, plans
}
