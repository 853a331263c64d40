// SPDX-License-Identifier: Apache-2.0

package history

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/test/fixtest"
)

func TestFights(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		reason string
		ages   []time.Duration
		want   bool
	}{
		"An object that was never fixed is at peace": {reason: "no heat"},
		"Three fixes in a minute are drift": {
			reason: "heat is just below 3", ages: []time.Duration{0, 30 * time.Second, time.Minute}},
		"Four fixes in a minute are a fight": {
			reason: "heat is just below 4", ages: []time.Duration{0, 20 * time.Second, 40 * time.Second, time.Minute},
			want: true},
		"Four fixes cool down in a quarter hour": {
			reason: "4 × 2^-0.5 is below 3",
			ages:   []time.Duration{15 * time.Minute, 15 * time.Minute, 15 * time.Minute, 15 * time.Minute}},
		"Once an hour makes no fast heat, for however long": {
			reason: "the sum stays below 1.4",
			ages:   []time.Duration{0, time.Hour, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour}},
		"Every five minutes is a fight before an hour": {
			reason: "the sum is 4.9", ages: []time.Duration{0, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute,
				20 * time.Minute, 25 * time.Minute}, want: true},
		"A clock that went back makes no extra heat": {
			reason: "a fix counts 1 at most", ages: []time.Duration{-time.Hour, -time.Hour, -time.Hour}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := New()
			for _, age := range tc.ages {
				h.Remember(fixtest.Ended(now.Add(-age)), fixtest.One(v1alpha1.TargetDone), "r1", now)
			}
			if got := h.Of(v1alpha1.ObjectReference{UID: "u1"}, &metav1.PartialObjectMetadata{},
				nil).Fighting(); got != tc.want {
				t.Errorf("%s: want fighting %t at a heat of %.2f", tc.reason, tc.want, h.Heat["u1"])
			}
		})
	}
}

// One fixing every 18 minutes keeps the heat just below its limit, for ever. What
// plans carry on counts over weeks, though all but the latest plan are forgotten.
func TestSlowFights(t *testing.T) {
	const day = 24 * time.Hour
	cases := map[string]struct {
		reason  string
		every   time.Duration
		fixed   int // how often it may be fixed before it is left alone; 0: it never is
		retried int // after which fix a person says to try again
	}{
		"Every 18 minutes": {reason: "the fast heat never gets to 3", every: 18 * time.Minute,
			fixed: 9},
		"Once an hour":     {reason: "a pipeline that deploys", every: time.Hour, fixed: 9},
		"Once a day":       {reason: "a nightly job", every: day, fixed: 19},
		"Once in two days": {reason: "that is drift", every: 2 * day},
		"Once an hour, and a person says go": {reason: "the count begins anew", every: time.Hour, fixed: 14,
			retried: 5},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			now, object := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
				v1alpha1.ObjectReference{Kind: "Deployment", Name: "web", UID: "u1"}
			var carried int32
			fixed := 0
			for fixed < 200 {
				now = now.Add(tc.every)
				b := fixtest.One(v1alpha1.TargetDone)
				b.Slices[0].Targets[0].Heat = carried
				h := New()
				if fixed++; fixed != tc.retried {
					h.Remember(fixtest.Ended(now), b, "r1", now.Add(tc.every))
				}
				if h.Of(object, &metav1.PartialObjectMetadata{}, nil).Fighting() {
					break
				}
				carried = h.Of(object, &metav1.PartialObjectMetadata{}, nil).Carried()
			}
			if want := tc.fixed; want == 0 && fixed < 200 || want > 0 && fixed != want {
				t.Errorf("%s: it was fixed %d times, want %d", tc.reason, fixed, want)
			}
		})
	}
}

// A target that couldn't be fixed this time carries its heat on.
func TestHeatIsCarriedOn(t *testing.T) {
	now, object := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		v1alpha1.ObjectReference{Kind: "Deployment", Name: "web", UID: "u1"}
	for state, want := range map[v1alpha1.TargetState]int32{v1alpha1.TargetDone: 500, v1alpha1.TargetFailed: 400,
		v1alpha1.TargetSkipped: 400, v1alpha1.TargetReverted: 400} {
		b := fixtest.One(state)
		b.Slices[0].Targets[0].Heat = 400
		h := New()
		h.Remember(fixtest.Ended(now), b, "r1", now)
		h.Remember(fixtest.Ended(now.Add(-SlowHalfLife)), fixtest.One(v1alpha1.TargetDone), "r1", now)
		if got := h.Of(object, &metav1.PartialObjectMetadata{}, nil).Carried(); got != want {
			t.Errorf("%s: carried on %d, want %d", state, got, want)
		}
	}
}

func TestAnObjectThatIsCreatedAgainAfterEachDeletionIsFoughtOver(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for verb, want := range map[v1alpha1.ActionType]bool{v1alpha1.ActionDelete: true, v1alpha1.ActionEvict: false} {
		h := New()
		for range 4 {
			b := fixtest.One(v1alpha1.TargetDone)
			b.Record(0).Write = &v1alpha1.WriteRecord{Action: verb}
			h.Remember(fixtest.Ended(now), b, "r1", now)
		}
		if got := h.Of(v1alpha1.ObjectReference{Kind: "Deployment", Name: "web", UID: "new"},
			&metav1.PartialObjectMetadata{}, nil).Fighting(); got != want {
			t.Errorf("four times %s of objects of one name: fighting %t, want %t", verb, got, want)
		}
	}
}

func TestFailedTargetsWaitTwiceAsLongEachTime(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	h, u1 := New(), v1alpha1.ObjectReference{Kind: "Deployment", Name: "web", UID: "u1"}
	for _, want := range []time.Duration{10 * time.Minute, 20 * time.Minute, 40 * time.Minute} {
		h.Remember(fixtest.Ended(now), fixtest.One(v1alpha1.TargetFailed), "r1", now)
		if !h.Waiting(u1, now.Add(want-time.Second)) || h.Waiting(u1, now.Add(want)) {
			t.Errorf("want a wait of %s, got until %s", want, h.FailedUntil["u1"])
		}
	}
	other := New()
	other.Remember(fixtest.Ended(now), fixtest.One(v1alpha1.TargetFailed), "r2", now)
	if other.Waiting(u1, now) {
		t.Error("a failure of an older revision of the policy keeps the new one waiting")
	}
}

// An object whose write was undone because it wasn't well before either waits, so that
// the next plan fixes the others of its wave; those don't wait.
func TestAnObjectThatProvesNothingWaitsAlone(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for reason, waits := range map[string]bool{v1alpha1.ReasonUnhealthyBefore: true, "": false} {
		rem, h, b := fixtest.Ended(now), New(), fixtest.One(v1alpha1.TargetReverted)
		rem.Status.Reason, b.Record(0).Reason = v1alpha1.ReasonNoAnswer, reason
		h.Remember(rem, b, "r1", now)
		if got := h.Waiting(b.Target(0).Object, now.Add(time.Minute)); got != waits {
			t.Errorf("an undone target with reason %q waits: %t, want %t", reason, got, waits)
		}
	}
}

// What a controller makes anew after evictions carries their heat, whatever its name
// and UID; what was there before them doesn't, nor does what another controller makes.
func TestHeatFollowsTheController(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	rs := v1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "shop", Name: "web-7d4b",
		UID: "rs1"}
	web := v1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web",
		UID: "d1"}
	newer, other := rs, web
	newer.Name, newer.UID = "web-99", "rs9"
	other.Name, other.UID = "api", "d2"
	h := New()
	for i := range 4 {
		at := now.Add(time.Duration(i) * time.Minute)
		b := fixtest.One(v1alpha1.TargetDone)
		b.Slices[0].Targets = append(b.Slices[0].Targets, b.Slices[0].Targets[0])
		b.Slices[0].Records = append(b.Slices[0].Records, v1alpha1.TargetRecord{State: v1alpha1.TargetDone})
		b.Places = append(b.Places, record.Place{Slice: 0, Record: 1})
		for n := range 2 { // two Pods of one controller in one plan count once
			intent := metav1.NewMicroTime(at)
			b.Slices[0].Targets[n].Object = v1alpha1.ObjectReference{
				APIVersion: "v1", Kind: "Pod", Name: "p", UID: strings.Repeat("p", 2*i+n+1)}
			b.Record(n).Write = &v1alpha1.WriteRecord{Action: v1alpha1.ActionEvict, IntentTime: &intent,
				AppliedTime: &intent, Controller: &rs, Root: &web}
		}
		rem := fixtest.Ended(at)
		rem.Name = "plan-" + strings.Repeat("i", i)
		h.Remember(rem, b, "r1", now.Add(4*time.Minute))
	}
	cases := map[string]struct {
		owners  []v1alpha1.ObjectReference
		created time.Time
		want    bool
	}{
		"made again":                     {[]v1alpha1.ObjectReference{rs, web}, now.Add(4 * time.Minute), true},
		"made again by a newer revision": {[]v1alpha1.ObjectReference{newer, web}, now.Add(4 * time.Minute), true},
		"made after the first alone":     {[]v1alpha1.ObjectReference{rs, web}, now.Add(30 * time.Second), false},
		"there before":                   {[]v1alpha1.ObjectReference{rs, web}, now.Add(-time.Hour), false},
		"another's":                      {[]v1alpha1.ObjectReference{other}, now.Add(4 * time.Minute), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := &metav1.PartialObjectMetadata{
				ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(tc.created)}}
			got := h.Of(v1alpha1.ObjectReference{APIVersion: "v1", Kind: "Pod", Name: "new", UID: "new"}, m, tc.owners)
			if got.Fighting() != tc.want {
				t.Errorf("fighting %t at a heat of %.2f, want %t", got.Fighting(), got.Fast, tc.want)
			}
			if tc.want && !strings.Contains(got.Why(m), "Pods of Deployment shop/web") {
				t.Errorf("it says %q", got.Why(m))
			}
		})
	}
}
