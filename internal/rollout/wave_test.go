// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

func TestMembers(t *testing.T) {
	tell := func(m Members) string {
		text := fmt.Sprintf("%d:", m.total)
		for _, list := range []struct {
			name    string
			targets []int
		}{{"ready", m.Ready}, {"later", m.later}, {"full", m.full}, {"next", m.next}, {"barred", m.barred}, {"intents",
			m.Intents},
			{"applied", m.Applied}, {"verified", m.Verified}, {"failed", m.failed}} {
			if len(list.targets) > 0 {
				text += fmt.Sprintf(" %s %v", list.name, list.targets)
			}
		}
		if !m.nextTry.IsZero() {
			text += " next try in " + m.nextTry.Sub(noon).String()
		}
		return text
	}
	full := barred(v1alpha1.ReasonBudgetSpent, "no room")
	for name, tc := range map[string]struct {
		reason  string
		most    int
		targets []TargetView
		want    string
	}{
		"every state": {
			reason: "each has its list, or none",
			targets: []TargetView{target(1, pending), target(1, pending, again(time.Minute)), target(1, pending, full),
				target(1, pending, barred("", "open")),
				target(1, intended), target(1, written), target(1, verified), target(1, failed), target(1, done),
				target(1, skipped),
				target(1, v1alpha1.TargetReverted), target(2, pending), target(0, pending)},
			want: "11: ready [0] later [1] full [2] barred [3] intents [4] applied [5] verified [6] failed [7] " +
				"next try in 1m0s"},
		"tries that are due": {
			reason:  "one that is due this moment waits no more",
			targets: []TargetView{target(1, pending, again(0)), target(1, pending, again(-1))},
			want:    "2: ready [0 1]"},
		"the earliest of several tries": {
			reason: "what is settled isn't tried again",
			targets: []TargetView{target(1, intended, again(3*time.Minute)), target(1, pending, again(2*time.Minute)),
				target(1, failed, again(time.Minute))},
			want: "3: later [1] intents [0] failed [2] next try in 2m0s"},
		"a plan has its object, and it is to be tried again": {
			reason:  "it waits for the try",
			targets: []TargetView{target(1, pending, barred(v1alpha1.ReasonOtherPlan, "x"), again(time.Minute))},
			want:    "1: later [0] next try in 1m0s"},
		"a breaker keeps it back, and it is to be tried again": {
			reason:  "what lasts comes first",
			targets: []TargetView{target(1, pending, barred("", "x"), again(time.Minute))},
			want:    "1: barred [0] next try in 1m0s"},
		"a write may arrive no more": {
			reason: "it is looked at for the last time",
			targets: []TargetView{target(1, pending, lands(0)), target(1, pending, lands(1)),
				target(1, written, lands(-1))},
			want: "3: ready [1] intents [0] applied [2]"},
		"a wave may be written in parts": {
			reason: "what is in flight counts", most: 5,
			targets: []TargetView{target(1, intended), target(1, written), target(1, verified), target(1, pending),
				target(1, pending), target(1, pending)},
			want: "6: ready [3 4] next [5] intents [0] applied [1] verified [2]"},
		"a wave has room for more than is ready": {
			reason: "all of it may be written", most: 5,
			targets: []TargetView{target(1, written), target(1, pending), target(1, pending, again(time.Minute))},
			want:    "3: ready [1] later [2] applied [0] next try in 1m0s"},
		"a part of a wave is written": {
			reason: "the rest waits until that has soaked", most: 2,
			targets: []TargetView{target(1, written), target(1, verified), target(1, pending),
				target(1, pending, again(time.Minute)), target(1, pending, full)},
			want: "5: next [2 3 4] applied [0] verified [1] next try in 1m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			o := situation(v1alpha1.PhaseApplying, 1, tc.targets...)
			o.MostInWave = tc.most
			if got := tell(o.Members(1)); got != tc.want {
				t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestWhatMembersSay(t *testing.T) {
	one := []int{0}
	for name, tc := range map[string]struct {
		reason                   string
		m                        Members
		soon, pending, written   bool
		verifyOpen, verifyClosed bool
	}{
		"nothing": {reason: "there is nothing to do", m: Members{}},
		"ready":   {reason: "it may be written now", m: Members{Ready: one}, soon: true, pending: true},
		"later":   {reason: "it is tried again by itself", m: Members{later: one}, soon: true, pending: true},
		"full":    {reason: "room comes by itself", m: Members{full: one}, soon: true, pending: true},
		"barred":  {reason: "a person must let it", m: Members{barred: one}, pending: true},
		"applied": {reason: "it is to be verified", m: Members{Applied: one}, written: true, verifyOpen: true,
			verifyClosed: true},
		"verified": {reason: "it may soak", m: Members{Verified: one}, written: true, verifyOpen: true,
			verifyClosed: true},
		"verified, more": {reason: "more is to be written first", m: Members{Verified: one, later: one}, soon: true,
			pending: true, written: true, verifyClosed: true},
		"applied, more": {reason: "a batch is verified first", m: Members{Applied: one, Ready: one}, soon: true,
			pending: true, written: true, verifyOpen: true, verifyClosed: true},
		"both written": {reason: "both await something", m: Members{Applied: one, Verified: one}, written: true,
			verifyOpen: true, verifyClosed: true},
		"all waits": {reason: "all of it counts", m: Members{Ready: one, later: one, full: one}, soon: true,
			pending: true},
		"later and full": {reason: "both count", m: Members{later: one, full: one}, soon: true, pending: true},
	} {
		got := []bool{tc.m.soon(), tc.m.Pending(), tc.m.Written(), tc.m.toVerify(true), tc.m.toVerify(false)}
		if diff := cmp.Diff([]bool{tc.soon, tc.pending, tc.written, tc.verifyOpen, tc.verifyClosed}, got); diff != "" {
			t.Errorf("%s: %s: soon, pending, written, to verify with an open and with a closed gate: -want +got\n%s",
				name, tc.reason, diff)
		}
	}
}

func TestOpen(t *testing.T) {
	for name, tc := range map[string]struct {
		o    Observation
		want bool
	}{
		"nothing stands against it": {Observation{}, true},
		"the plan is stopped":       {Observation{Stop: "changed"}, false},
		"a person ends it":          {Observation{Abort: "ada"}, false},
		"the gate is closed":        {Observation{Gate: Gate{Closed: true}}, false},
	} {
		if got := tc.o.Open(); got != tc.want {
			t.Errorf("%s: got %t, want %t", name, got, tc.want)
		}
	}
}

func TestWhatNamespacesSay(t *testing.T) {
	open := barred(v1alpha1.ReasonBreakerOpen, "the breaker of shop is open")
	for name, tc := range map[string]struct {
		reason  string
		targets []TargetView
		want    Gate
	}{
		"all of it is kept back": {
			reason: "nothing is left", targets: []TargetView{target(0, done), target(1, pending, open)},
			want: Gate{Closed: true, Reason: v1alpha1.ReasonBreakerOpen, Message: "the breaker of shop is open"}},
		"all of it is kept back, from the first": {
			reason: "nothing is left", targets: []TargetView{target(1, pending, open)},
			want: Gate{Closed: true, Reason: v1alpha1.ReasonBreakerOpen, Message: "the breaker of shop is open"}},
		"something is free": {
			reason: "it goes on elsewhere", targets: []TargetView{target(1, pending, open), target(1, pending)}},
		"something is free soon": {
			reason: "it goes on elsewhere",
			targets: []TargetView{target(1, pending, open),
				target(1, pending, barred(v1alpha1.ReasonOtherPlan, "x"))}},
		"something else keeps it back": {
			reason:  "it isn't a breaker",
			targets: []TargetView{target(1, pending, barred(v1alpha1.ReasonPaused, "x"))}},
		"nothing is to be written": {
			reason: "it was kept back once", targets: []TargetView{target(1, skipped, open), target(1, written, open)}},
	} {
		if got := situation(v1alpha1.PhaseApplying, 1, tc.targets...).AllKeptBack(); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %s: got %+v, want %+v", name, tc.reason, got, tc.want)
		}
	}

	o := situation(v1alpha1.PhaseApplying, 1, target(0, done), target(1, pending), target(2, pending, in("cart")),
		target(2, pending), target(2, pending, in("")))
	o.Spec.Plan.Rollout.Mode = v1alpha1.RemediationAutomatic
	o.Bar(map[string]string{"shop": "open"})
	var kept []string
	for _, t := range o.Targets {
		kept = append(kept, t.Barred)
	}
	if diff := cmp.Diff([]string{"", "open", "", "open", ""}, kept); diff != "" || o.Gate.Closed {
		t.Errorf("only pending targets of the namespace are kept back, gate %+v: -want +got\n%s", o.Gate, diff)
	}
	if o.Bar(map[string]string{"shop": "open", "cart": "open", "": "open"}); !o.Gate.Closed {
		t.Error("every target is kept back, and the gate is open")
	}
}

func TestCandidates(t *testing.T) {
	o := situation(v1alpha1.PhaseApplying, 0, target(0, pending), target(1, pending), target(1, written),
		target(2, pending))
	if got := o.candidates(canary.Stage{First: 0, End: 2}); !slices.Equal(got, []int{1}) {
		t.Errorf("got %v, want what is pending in later waves of the stage, which is 1", got)
	}
}

func TestDoneIn(t *testing.T) {
	o := situation(v1alpha1.PhaseApplying, 1, target(0, pending), target(1, done), target(2, written))
	for _, tc := range []struct {
		stage canary.Stage
		want  bool
	}{{canary.Stage{First: 0, End: 1}, false}, {canary.Stage{First: 1, End: 2}, true}, {canary.Stage{First: 2, End: 3},
		false}} {
		if got := o.DoneIn(tc.stage); got != tc.want {
			t.Errorf("waves %d to %d: got %t, want %t", tc.stage.First, tc.stage.End-1, got, tc.want)
		}
	}
}

// The namespaces that a plan keeps are bounded.
func TestPlacesAreBounded(t *testing.T) {
	var targets []TargetView
	var marks []Mark
	for i := range maxFailedIn + 4 {
		targets, marks = append(targets, target(0, failed, in(fmt.Sprintf("n%02d", i)))), append(marks, Mark{Target: i})
	}
	o := situation(v1alpha1.PhaseVerifying, 0, targets...)
	if got := o.places(marks); len(got) != maxFailedIn || got[0] != "n00" {
		t.Errorf("got %q, want the first %d", got, maxFailedIn)
	}
	if got := o.atFault(o.Members(0)); len(got) != maxFailedIn {
		t.Errorf("at fault are %q, want %d", got, maxFailedIn)
	}
}

func TestLabel(t *testing.T) {
	o := situation(v1alpha1.PhaseApplying, 0)
	staged := situation(v1alpha1.PhaseApplying, 0)
	stages(&staged)
	for _, tc := range []struct {
		o    Observation
		wave int32
		want string
	}{{o, 0, "canary"}, {o, 1, "wave 1 of 2"}, {staged, 0, "canary"}, {staged, 1, "canary of prod"}, {staged, 2,
		"wave 2 of 2 (prod)"}} {
		if got := tc.o.Label(tc.wave); got != tc.want {
			t.Errorf("wave %d: got %q, want %q", tc.wave, got, tc.want)
		}
	}
	for _, tc := range []struct {
		o     Observation
		wave  int32
		next  int32
		holds bool
	}{{o, 0, 1, true}, {staged, 0, 1, false}, {staged, 1, 2, true}} {
		if next, holds := WaveAfterCanary(tc.o.Spec.Plan, tc.wave); next != tc.next || holds != tc.holds {
			t.Errorf("after canary %d comes %d (%t), want %d (%t)", tc.wave, next, holds, tc.next, tc.holds)
		}
	}
}
