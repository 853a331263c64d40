// SPDX-License-Identifier: Apache-2.0

package canary_test

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/internal/canary"
)

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
		"Without limits there is always room": {
			reason: "the plan's own is the machine's", plans: plans{{Name: "a", InFlight: flight{"shop": 5}}},
			left: math.MaxInt, leftShop: math.MaxInt, leftClusterWide: math.MaxInt,
		},
		"What is in flight is taken off": {
			reason: "3 may be", plans: plans{{Name: "a", MaxInFlight: 3, InFlight: flight{"shop": 1}}},
			left: 2, leftShop: 2, leftClusterWide: 2,
		},
		"Work of other plans counts": {
			reason: "2 + 3 are in flight, 5 may be", plans: plans{
				{Name: "a", MaxInFlight: 5, InFlight: flight{"shop": 2}},
				{Name: "b", InFlight: flight{"shop": 2, "": 1}}},
			spent: "maxTotalInFlight of plan a allows 5 in flight over all plans; 5 are",
		},
		"The limit of another plan holds too": {
			reason: "b allows 2", plans: plans{
				{Name: "a", MaxInFlight: 20, InFlight: flight{"shop": 1}},
				{Name: "b", MaxInFlight: 2, InFlight: flight{"shop": 1}}},
			spent: "maxTotalInFlight of plan b allows 2 in flight over all plans; 2 are",
		},
		"A namespace has a limit of its own": {
			reason: "cluster scope has no namespace", plans: plans{
				{Name: "a", MaxInFlight: 20, MaxPerNamespace: 3, InFlight: flight{"shop": 1}},
				{Name: "b", MaxPerNamespace: 2, InFlight: flight{"shop": 1, "": 4}}},
			left: 14, leftClusterWide: 14,
			spent: "maxPerNamespace of plan b allows 2 in flight in one namespace over all plans; 2 are in shop",
		},
		"More in flight than is allowed leaves none": {
			reason: "a limit was tightened meanwhile",
			plans:  plans{{Name: "a", MaxInFlight: 1, InFlight: flight{"shop": 5}}},
			spent:  "5 are",
		},
		"A negative limit of namespaces allows none in any": {
			reason: "invalid means 0", plans: plans{{Name: "a", MaxPerNamespace: -1}},
			left: math.MaxInt, leftClusterWide: math.MaxInt,
			spent: "maxPerNamespace of plan a allows 0 in flight in one namespace",
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
			p := canary.PlanAtWork{InFlight: map[string]int{}}
			if rapid.Bool().Draw(t, "has limits") {
				p.MaxInFlight = rapid.Int32Range(0, 9).Draw(t, "in flight")
				p.MaxPerNamespace = rapid.Int32Range(-1, 4).Draw(t, "in a namespace")
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

// checkLimits reads each limit in a way of its own.
func checkLimits(t *rapid.T, plans []canary.PlanAtWork, all, in int, namespace string) {
	for _, p := range plans {
		if most := p.MaxInFlight; most != 0 && all > int(most) {
			t.Fatalf("%d in flight, but %d may be", all, most)
		}
		if most := p.MaxPerNamespace; most != 0 && namespace != "" && in > int(max(most, 0)) {
			t.Fatalf("%d in flight in %s, but %d may be", in, namespace, most)
		}
	}
}
