// SPDX-License-Identifier: Apache-2.0

package canary_test

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

// budget has the given limits, written as in YAML; nil is unset.
func budget(maxUnavailable any, maxPerNamespace int32) *v1alpha1.BudgetStrategy {
	b := &v1alpha1.BudgetStrategy{}
	if maxUnavailable != nil {
		v := shareOf(maxUnavailable)
		b.MaxUnavailable = &v
	}
	if maxPerNamespace != 0 {
		b.MaxPerNamespace = &maxPerNamespace
	}
	return b
}

func TestRoomFor(t *testing.T) {
	type plans = []canary.PlanAtWork
	type flight = map[string]int
	cases := map[string]struct {
		reason          string
		plans           plans
		left, leftShop  int
		leftClusterWide int
		spent           string
	}{
		"No budget sets no limit": {
			reason: "maxInFlight is the machine's", plans: plans{{Name: "a", Targets: 9, InFlight: flight{"shop": 5}}},
			left: math.MaxInt, leftShop: math.MaxInt, leftClusterWide: math.MaxInt,
		},
		"An empty budget sets none either": {
			reason: "nothing is limited", plans: plans{{Name: "a", Targets: 9, Budget: budget(nil, 0)}},
			left: math.MaxInt, leftShop: math.MaxInt, leftClusterWide: math.MaxInt,
		},
		"A percentage rounds down": {
			reason: "10 % of 39 is 3",
			plans:  plans{{Name: "a", Targets: 39, Budget: budget("10%", 0), InFlight: flight{"shop": 1}}},
			left:   2, leftShop: 2, leftClusterWide: 2,
		},
		"A percentage is at least one": {
			reason: "1 % of 7 would stop the plan for ever",
			plans:  plans{{Name: "a", Targets: 7, Budget: budget("1%", 0)}},
			left:   1, leftShop: 1, leftClusterWide: 1,
		},
		"Work of other plans counts": {
			reason: "2 + 3 are in flight, 5 may be", plans: plans{
				{Name: "a", Targets: 50, Budget: budget("10%", 0), InFlight: flight{"shop": 2}},
				{Name: "b", Targets: 9, InFlight: flight{"shop": 2, "": 1}}},
			spent: "budget.maxUnavailable of plan a (10% of 50 targets) allows 5 in flight over all plans; 5 are",
		},
		"The budget of another plan holds too": {
			reason: "b allows 2", plans: plans{
				{Name: "a", Targets: 50, Budget: budget(20, 0), InFlight: flight{"shop": 1}},
				{Name: "b", Targets: 9, Budget: budget(2, 0), InFlight: flight{"shop": 1}}},
			spent: "budget.maxUnavailable of plan b (2 of 9 targets) allows 2 in flight over all plans; 2 are",
		},
		"A namespace has a limit of its own": {
			reason: "cluster scope has no namespace", plans: plans{
				{Name: "a", Targets: 50, Budget: budget(20, 3), InFlight: flight{"shop": 1}},
				{Name: "b", Targets: 9, Budget: budget(nil, 2), InFlight: flight{"shop": 1, "": 4}}},
			left: 14, leftClusterWide: 14,
			spent: "budget.maxPerNamespace of plan b allows 2 in flight in one namespace over all plans; 2 are in shop",
		},
		"More in flight than is allowed leaves none": {
			reason: "a budget was tightened meanwhile",
			plans:  plans{{Name: "a", Targets: 9, Budget: budget(1, 0), InFlight: flight{"shop": 5}}},
			spent:  "5 are",
		},
		"A count of 0 allows none": {
			reason: "invalid means 0", plans: plans{{Name: "a", Targets: 9, Budget: budget(0, 0)}},
			spent: "budget.maxUnavailable of plan a allows none: 0: a count must be at least 1",
		},
		"More than all allows none": {
			reason: "invalid means 0", plans: plans{{Name: "a", Targets: 9, Budget: budget("110%", 0)}},
			spent: `budget.maxUnavailable of plan a allows none: "110%": must be a count of at least 1, or a percentage`,
		},
		"Words allow none": {
			reason: "invalid means 0", plans: plans{{Name: "a", Targets: 9, Budget: budget("half", 0)}},
			spent: "budget.maxUnavailable of plan a allows none",
		},
		"A negative limit of namespaces allows none in any": {
			reason: "invalid means 0", plans: plans{{Name: "a", Targets: 9, Budget: budget(nil, -1)}},
			left: math.MaxInt, leftClusterWide: math.MaxInt,
			spent: "budget.maxPerNamespace of plan a allows none: -1 must be at least 1",
		},
		"An invalid budget of another plan allows none": {
			reason: "the most restrictive one wins",
			plans: plans{{Name: "a", Targets: 9, Budget: budget(5, 0)},
				{Name: "b", Targets: 9, Budget: budget("0%", 0)}},
			spent: "budget.maxUnavailable of plan b allows none",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			room := canary.RoomFor(tc.plans)
			if l, s, c := room.Left(), room.LeftIn("shop"), room.LeftIn(""); l != tc.left || s != tc.leftShop ||
				c != tc.leftClusterWide {
				t.Errorf("%s\nleft in all, in shop, of cluster scope: want %d %d %d, got %d %d %d", tc.reason, tc.left,
					tc.leftShop, tc.leftClusterWide, l, s, c)
			}
			if spent := room.Take("shop"); !strings.Contains(spent, tc.spent) || (spent == "") != (tc.spent == "") {
				t.Errorf("%s\nspent: want %q, got %q", tc.reason, tc.spent, spent)
			}
		})
	}
	if (&canary.Room{}).Left() != 0 {
		t.Error("a Room that nobody filled has room")
	}
}

// However targets are taken, no plan's limit is passed by taking.
func TestRoomIsNeverOverdrawn(t *testing.T) {
	namespaces := []string{"", "shop", "bank"}
	rapid.Check(t, func(t *rapid.T) {
		var plans []canary.PlanAtWork
		for range rapid.IntRange(1, 4).Draw(t, "plans") {
			p := canary.PlanAtWork{Targets: rapid.IntRange(1, 300).Draw(t, "targets"), InFlight: map[string]int{}}
			if rapid.Bool().Draw(t, "has a budget") {
				share := rapid.OneOf(rapid.Map(rapid.IntRange(0, 9), func(n int) any { return n }),
					rapid.SampledFrom([]any{nil, "0%", "1%", "10%", "150%"})).Draw(t, "maxUnavailable")
				p.Budget = budget(share, rapid.Int32Range(-1, 4).Draw(t, "maxPerNamespace"))
			}
			for _, namespace := range namespaces {
				p.InFlight[namespace] = rapid.IntRange(0, 2).Draw(t, "in flight in "+namespace)
			}
			plans = append(plans, p)
		}
		room, all, in := canary.RoomFor(plans), 0, map[string]int{}
		for _, p := range plans {
			for namespace, n := range p.InFlight {
				all, in[namespace] = all+n, in[namespace]+n
			}
		}
		for _, namespace := range rapid.SliceOfN(rapid.SampledFrom(namespaces), 0, 30).Draw(t, "taken from") {
			if room.Take(namespace) == "" {
				all, in[namespace] = all+1, in[namespace]+1
				checkLimits(t, plans, all, in[namespace], namespace)
			}
		}
	})
}

// checkLimits reads each budget in a way of its own.
func checkLimits(t *rapid.T, plans []canary.PlanAtWork, all, in int, namespace string) {
	for _, p := range plans {
		if p.Budget == nil {
			continue
		}
		if v := p.Budget.MaxUnavailable; v != nil {
			most := map[string]int{"0%": 0, "1%": max(p.Targets/100, 1), "10%": max(p.Targets/10, 1),
				"150%": 0}[v.String()]
			if v.StrVal == "" {
				most = min(v.IntValue(), p.Targets)
			}
			if all > most {
				t.Fatalf("%d in flight, but %s of %d targets may be", all, v.String(), p.Targets)
			}
		}
		if v := p.Budget.MaxPerNamespace; v != nil && namespace != "" && in > int(max(*v, 0)) {
			t.Fatalf("%d in flight in %s, but %d may be", in, namespace, *v)
		}
	}
}
