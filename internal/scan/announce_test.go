// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/scan/index"
)

// recorded writes each event as one line.
type recorded []string

func (r *recorded) Eventf(regarding, _ runtime.Object, _, reason, _, note string, args ...any) {
	ref := regarding.(*corev1.ObjectReference)
	*r = append(*r, fmt.Sprintf("%s %s: ", ref.Kind, reason)+fmt.Sprintf(note, args...))
}

func TestObjectEventsAreBounded(t *testing.T) {
	var events recorded
	c := clocktesting.NewFakeClock(epoch)
	a := newAnnouncer(&events, c)
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	complete := index.Summary{Revision: "r1", State: v1alpha1.ScanComplete, Counts: index.Counts{Scanned: 100}}
	a.review(p, complete)
	begin := func(n int) {
		var found []index.Transition
		for i := range n {
			found = append(found, index.Transition{Policy: "p", Kind: configMaps, APIVersion: "v1",
				Key: index.KeyOf("ns", fmt.Sprint(i)), Message: "bad"})
		}
		a.found(found)
	}

	begin(80)
	if got := len(events); got != eventsPerWindow {
		t.Fatalf("80 objects at once made %d events, want %d", got, eventsPerWindow)
	}
	complete.Violating = 80
	if wait := a.review(p, complete); wait != eventWindow {
		t.Errorf("the rest is due in %v, want %v", wait, eventWindow)
	}
	c.Step(eventWindow)
	events = nil
	a.review(p, complete)
	begin(1)
	want := recorded{
		"ClusterRegoPolicy ViolationFound: 30 more objects began to violate than have events of their own; 80 of 100 " +
			"objects violate now",
		"ConfigMap ViolationFound: violates policy p: bad",
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("after the window (-want +got):\n%s", diff)
	}
}

func TestPolicyEvents(t *testing.T) {
	state := func(revision string, state v1alpha1.ScanState, violating int,
		incomplete ...v1alpha1.IncompleteKind) index.Summary {
		return index.Summary{Revision: revision, State: state,
			Counts: index.Counts{Scanned: 40, Violating: violating, Violations: violating}, Incomplete: incomplete}
	}
	failing := func(revision string, errors, unknown int) index.Summary {
		s := state(revision, v1alpha1.ScanComplete, 0)
		s.Errors, s.ErrorsUnknown = errors, unknown
		return s
	}
	widgets := v1alpha1.IncompleteKind{Kind: "Widget", Message: "Widget isn't served"}
	gadgets := v1alpha1.IncompleteKind{Kind: "Gadget", Message: "Gadget isn't served"}
	pending, complete, incomplete := v1alpha1.ScanPending, v1alpha1.ScanComplete, v1alpha1.ScanIncomplete
	cases := map[string]struct {
		reason string
		states []index.Summary
		want   recorded
	}{
		"the first pass is summarised once": {
			reason: "one event, not one per object",
			states: []index.Summary{state("r1", pending, 12), state("r1", complete, 30), state("r1", complete, 29)},
			want: recorded{
				"ClusterRegoPolicy ViolationFound: 30 of 40 objects violate revision r1, 30 violations in all"},
		},
		"a first pass without violations says nothing": {
			reason: "no news",
			states: []index.Summary{state("r1", complete, 0)},
		},
		"back to none is told once": {
			reason: "only the transition",
			states: []index.Summary{state("r1", complete, 2), state("r1", complete, 0), state("r1", complete, 0)},
			want: recorded{"ClusterRegoPolicy ViolationFound: 2 of 40 objects violate revision r1, 2 violations in all",
				"ClusterRegoPolicy ViolationResolved: none of 40 objects violates the policy any more"},
		},
		"none in an unfinished pass isn't resolved": {
			reason: "not everything was looked at",
			states: []index.Summary{state("r1", complete, 2), state("r2", pending, 0),
				state("r2", incomplete, 0, widgets),
				state("r2", complete, 0)},
			want: recorded{"ClusterRegoPolicy ViolationFound: 2 of 40 objects violate revision r1, 2 violations in all",
				"ClusterRegoPolicy ScanIncomplete: the figures are a lower bound; Widget isn't served",
				"ClusterRegoPolicy ViolationResolved: none of 40 objects violates the policy any more"},
		},
		"none while some can't be judged isn't resolved": {
			reason: "they may violate as before",
			states: []index.Summary{state("r1", complete, 2), failing("r1", 40, 0), state("r1", complete, 2),
				failing("r1", 1, 0), state("r1", complete, 0)},
			want: recorded{"ClusterRegoPolicy ViolationFound: 2 of 40 objects violate revision r1, 2 violations in all",
				"ClusterRegoPolicy ViolationResolved: none of 40 objects violates the policy any more"},
		},
		"a first pass that judges nothing is summarised once it does": {
			reason: "what the rules look up wasn't known yet",
			states: []index.Summary{failing("r1", 40, 40), state("r1", complete, 2)},
			want: recorded{
				"ClusterRegoPolicy ViolationFound: 2 of 40 objects violate revision r1, 2 violations in all"},
		},
		"an incomplete scan is told again only for other kinds": {
			reason: "a problem that stays is no transition",
			states: []index.Summary{state("r1", incomplete, 0, widgets), state("r1", incomplete, 0, widgets),
				state("r1", incomplete, 0, gadgets, widgets)},
			want: recorded{"ClusterRegoPolicy ScanIncomplete: the figures are a lower bound; Widget isn't served",
				"ClusterRegoPolicy ScanIncomplete: the figures are a lower bound; Gadget isn't served; Widget isn't " +
					"served"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var events recorded
			a := newAnnouncer(&events, clocktesting.NewFakeClock(epoch))
			for _, s := range tc.states {
				if wait := a.review(&v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}},
					s); wait != time.Duration(0) {
					t.Errorf("nothing was left out, but review wants to come again in %v", wait)
				}
			}
			if diff := cmp.Diff(tc.want, events); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
