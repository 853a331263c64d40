// SPDX-License-Identifier: Apache-2.0

package circuit_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
)

// violating is a complete scan that has found so many objects in each namespace, and so
// many of cluster scope under "".
func violating(in map[string]int32) circuit.Violations {
	v := circuit.Violations{Revision: "r1"}
	var list []v1alpha1.ViolatingNamespace
	for namespace, n := range in {
		v.Objects += n
		if namespace != "" {
			list = append(list, v1alpha1.ViolatingNamespace{Namespace: namespace, Violating: n})
		}
	}
	slices.SortFunc(list, func(a, b v1alpha1.ViolatingNamespace) int {
		return cmp.Or(cmp.Compare(b.Violating, a.Violating), cmp.Compare(a.Namespace, b.Namespace))
	})
	v.In = func() []v1alpha1.ViolatingNamespace { return list }
	return v
}

func TestWhereAStormIs(t *testing.T) {
	type in = map[string]int32
	const none, all = "none", "all"
	many := func(n int, each int32, more in) in {
		for i := range n {
			more[fmt.Sprintf("team-%02d", i)] = each
		}
		return more
	}
	cases := map[string]struct {
		reason string
		scans  []in
		want   string
	}{
		"a hundred in one namespace": {
			"its editor makes them", []in{{"shop": 7}, {"shop": 7, "eve": 100}}, "eve"},
		"a thousand there, and some elsewhere": {
			"others are no storm", []in{{"shop": 7}, {"shop": 56, "eve": 1000}}, "eve"},
		"half of a hundred elsewhere": {
			"that is more than one namespace", []in{{"shop": 7}, {"shop": 57, "eve": 1000}}, all},
		"a few in each of many": {"the rule, or what it looks at, has gone wrong",
			[]in{many(30, 1, in{}), many(30, 5, in{})}, all},
		"in cluster scope": {"nobody owns that like a namespace", []in{{"": 3}, {"": 103}},
			all},
		"in a namespace that had most of them": {
			"what stood there before isn't counted",
			[]in{{"big": 500, "shop": 1}, {"big": 500, "shop": 51, "bank": 50}}, all},
		"one after the other": {
			"two namespaces have opened it", []in{{"shop": 1}, {"shop": 1, "eve": 101}, {"shop": 140, "eve": 101}},
			all},
		"the same one again while it is open": {
			"nothing is new", []in{{"shop": 1}, {"shop": 1, "eve": 101}, {"shop": 1, "eve": 301}}, "eve"},
		"less than a hundred": {"the limit is 100", []in{{"eve": 1}, {"eve": 100}}, none},
		"what was deleted elsewhere hides no storm": {
			"it is measured from the least", []in{{"shop": 300}, {"shop": 100}, {"shop": 200, "bank": 10}}, "shop"},
		"a namespace that wasn't among the largest": {
			"it counts with all it has", []in{many(12, 20, in{"eve": 19}), many(12, 20, in{"eve": 119})}, "eve"},
		"as many as that, and the rest in many more": {
			"the rest is a storm", []in{many(12, 20, in{"eve": 19}), many(12, 26, in{"eve": 119})}, all},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var st v1alpha1.RemediationBreakerStatus
			for i, scan := range tc.scans {
				st = circuit.Storm(st, violating(scan), v1alpha1.BreakerStrategy{},
					start.Add(time.Duration(i)*time.Minute))
			}
			got := none
			if st.State == v1alpha1.BreakerOpen {
				if got = st.OnlyNamespace; got == "" {
					got = all
				}
			}
			if got != tc.want {
				t.Errorf("%s: it keeps back %s, want %s (%s)", tc.reason, got, tc.want, st.Message)
			}
		})
	}
}

// Where the objects were is known of the number that stood until now as well, though a
// lower one was counted beside it.
func TestAStormIsMeasuredFromWhatStoodLast(t *testing.T) {
	var st v1alpha1.RemediationBreakerStatus
	for _, scan := range []struct{ minute, eve int32 }{{0, 0}, {1, 50}, {31, 60}, {40, 160}} {
		st = circuit.Storm(st, violating(map[string]int32{"shop": 500, "eve": scan.eve}), v1alpha1.BreakerStrategy{},
			start.Add(time.Duration(scan.minute)*time.Minute))
	}
	if st.State != v1alpha1.BreakerOpen || st.OnlyNamespace != "eve" {
		t.Errorf("it is %s for %q, want Open for eve", st.State, st.OnlyNamespace)
	}
}

// However many violating objects somebody makes and deletes in one namespace, while the
// others stay within half of the limit: they go on.
func TestNoStormOfOneNamespaceStopsOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := v1alpha1.BreakerStrategy{
			Storm: v1alpha1.StormStrategy{NewViolations: rapid.Int32Range(2, 300).Draw(t, "limit")}}
		calm := rapid.MapOfN(rapid.StringMatching(`[a-d]`), rapid.Int32Range(0, 400), 0, 4).Draw(t, "others")
		var st v1alpha1.RemediationBreakerStatus
		now := start
		for range rapid.IntRange(1, 30).Draw(t, "scans") {
			scan := map[string]int32{"eve": rapid.Int32Range(0, 5000).Draw(t, "eve")}
			left := (s.Storm.NewViolations - 1) / 2 // that many more than at the least
			for namespace, n := range calm {
				more := rapid.Int32Range(0, left).Draw(t, namespace)
				left -= more
				scan[namespace] = n + more
			}
			if st = circuit.Storm(st, violating(scan), s, now); st.State == v1alpha1.BreakerOpen &&
				st.OnlyNamespace != "eve" {
				t.Fatalf("%v opens for %q: %s", scan, st.OnlyNamespace, st.Message)
			}
			requireSound(t, st)
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(20*time.Minute)).Draw(t, "later")))
		}
	})
}
