// SPDX-License-Identifier: Apache-2.0

package canary_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/internal/canary"
)

func names(c []canary.Candidate, order []int) []string {
	got := make([]string, 0, len(order))
	for _, i := range order {
		got = append(got, fmt.Sprintf("%s/%s %s/%s", c[i].Group, c[i].Kind, c[i].Namespace, c[i].Name))
	}
	return got
}

func deployments(n int, namespaces ...string) []canary.Candidate {
	var c []canary.Candidate
	for _, ns := range namespaces {
		for i := range n {
			c = append(c, canary.Candidate{Group: "apps", Kind: "Deployment", Namespace: ns,
				Name: fmt.Sprintf("web-%02d", i)})
		}
	}
	return c
}

func TestOrderTakesCriticalLast(t *testing.T) {
	c := deployments(10, "shop", "pay")
	for i := range 7 {
		c[i*2].Critical = true
	}
	order := canary.Order("plan", c)
	for place, i := range order {
		if want := place >= len(c)-7; c[i].Critical != want {
			t.Errorf("place %d: %s critical = %v, want %v", place, c[i].Name, c[i].Critical, want)
		}
	}
}

func TestOrderCoversKindsAndNamespacesFirst(t *testing.T) {
	c := append(deployments(20, "a", "b", "c"),
		canary.Candidate{Group: "apps", Kind: "DaemonSet", Namespace: "a", Name: "agent"},
		canary.Candidate{Group: "batch", Kind: "CronJob", Namespace: "b", Name: "report"})
	for _, plan := range []string{"one", "two", "three", "four", "five"} {
		order := canary.Order(plan, c)
		kinds, pairs := map[string]bool{}, map[string]bool{}
		for place, i := range order[:5] {
			if place < 3 {
				kinds[c[i].Kind] = true
			}
			pairs[c[i].Kind+" in "+c[i].Namespace] = true
		}
		if len(kinds) != 3 {
			t.Errorf("plan %s: the first 3 targets cover kinds %v, want all 3", plan, kinds)
		}
		if len(pairs) != 5 {
			t.Errorf("plan %s: the first 5 targets cover %v, want 5 pairs of kind and namespace", plan, pairs)
		}
	}
}

func TestOrderPicksOtherVictimsInEachPlan(t *testing.T) {
	c := deployments(30, "shop")
	first := map[int]int{}
	for plan := range 60 {
		first[canary.Order(fmt.Sprintf("plan-%d", plan), c)[0]]++
	}
	// 60 draws from 30 leave about 26 different ones; no object may bear it all.
	if len(first) < 15 {
		t.Errorf("60 plans chose only %d different canaries of 30: %v", len(first), first)
	}
	for i, n := range first {
		if n > 12 {
			t.Errorf("%s is the canary of %d plans of 60", c[i].Name, n)
		}
	}
}

// A changed order would choose other targets for a plan that is under way.
func TestOrderStaysAsItIs(t *testing.T) {
	c := append(deployments(2, "pay", "shop"), canary.Candidate{Kind: "Pod", Namespace: "shop", Name: "debug"})
	c[0].Critical = true
	want := []string{
		"/Pod shop/debug",
		"apps/Deployment shop/web-01",
		"apps/Deployment pay/web-01",
		"apps/Deployment shop/web-00",
		"apps/Deployment pay/web-00",
	}
	if diff := cmp.Diff(want, names(c, canary.Order("plan", c))); diff != "" {
		t.Errorf("Order (-want +got):\n%s", diff)
	}
}

func TestOrderIsAPermutationWhateverTheInputOrder(t *testing.T) {
	some := rapid.Custom(func(t *rapid.T) canary.Candidate {
		return canary.Candidate{
			Group:     rapid.SampledFrom([]string{"", "apps", "batch"}).Draw(t, "group"),
			Kind:      rapid.SampledFrom([]string{"A", "B"}).Draw(t, "kind"),
			Namespace: rapid.SampledFrom([]string{"", "x", "y", "z"}).Draw(t, "namespace"),
			Name:      rapid.StringMatching(`[a-c]{1,2}`).Draw(t, "name"),
			Stage:     rapid.IntRange(0, 2).Draw(t, "stage"), Critical: rapid.Bool().Draw(t, "critical"),
			Behind: rapid.Bool().Draw(t, "behind"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SliceOfN(some, 0, 40).Draw(t, "candidates")
		plan := rapid.String().Draw(t, "plan")
		order := canary.Order(plan, c)
		sorted := slices.Sorted(slices.Values(order))
		for want, got := range sorted {
			if len(sorted) != len(c) || got != want {
				t.Fatalf("Order = %v isn't a permutation of %d", order, len(c))
			}
		}
		for i := range order[:max(len(order), 1)-1] {
			if a, b := c[order[i]], c[order[i+1]]; later(b, a) {
				t.Fatalf("%+v stands before %+v", a, b)
			}
		}
		shuffled := rapid.Permutation(c).Draw(t, "shuffled")
		if diff := cmp.Diff(names(c, order), names(shuffled, canary.Order(plan, shuffled))); diff != "" {
			t.Fatalf("order of objects after a shuffle (-want +got):\n%s", diff)
		}
	})
}

// later says whether b must come after a: by stage, then by rank, then behind.
func later(a, b canary.Candidate) bool {
	switch {
	case a.Stage != b.Stage:
		return a.Stage < b.Stage
	case a.Critical != b.Critical:
		return b.Critical
	default:
		return !a.Behind && b.Behind
	}
}
