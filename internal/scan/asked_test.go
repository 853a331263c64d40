// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/scan/index"
)

// awaitPass asks for a pass over the kinds of the policy "owner" that begins after another one until it is over.
func (w *world) awaitPass(reason string, number uint64) {
	w.t.Helper()
	deadline := time.After(20 * time.Second)
	for err := w.index.PassedSince("owner", number); err != nil; err = w.index.PassedSince("owner", number) {
		select {
		case <-w.changes:
		case <-time.After(time.Millisecond):
		case <-deadline:
			w.t.Fatalf("%s: %v", reason, err)
		}
	}
}

// A pass that somebody asks for is made though its time is far away, and a kind that the cluster doesn't serve, which
// has no objects, is waited for by nobody.
func TestAPassIsMadeForWhoeverAsks(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.ResyncPeriod = 10_000 * time.Hour })
	w.create(configMapResource, object("v1", "ConfigMap", "bad", nil))
	w.set(w.policy("owner", v1alpha1.KindMatch{APIGroups: []string{"example.com"}, Kinds: []string{"Widget"}}))
	w.await("Widget isn't served", see{[]string{"ConfigMap bad"}, false, v1alpha1.ScanIncomplete, 1})
	for range 3 {
		w.awaitPass("a pass was asked for", w.index.LatestPass())
	}
}

// A pass that somebody waits for is made at once unless that had the kind be listed more than half of the time.
func TestAskedPassesTakeHalfOfTheTime(t *testing.T) {
	clock := clocktesting.NewFakeClock(epoch)
	x := index.New(index.Options{Clock: clock, InForce: func(string) (string, bool) { return "", false }})
	gk := schema.GroupKind{Kind: "ConfigMap"}
	x.SetPolicies([]index.Definition{{Name: "p", Revision: "1", Kinds: []schema.GroupKind{gk}}})
	k := &kindScan{kind: gk, again: make(chan struct{}, 1)}
	s := &Scanner{catalog: catalog.New(catalog.Options{}), index: x, clock: clock, references: newReferenceChanges(nil),
		kinds: map[schema.GroupKind]*kindScan{gk: k}}
	listed := func() bool {
		s.relistReferring()
		select {
		case <-k.again:
			return true
		default:
			return false
		}
	}
	ask := func() {
		if x.PassedSince("p", x.LatestPass()) == nil {
			t.Fatal("nothing is waited for")
		}
	}
	if listed() {
		t.Error("a kind is listed that nobody has asked for")
	}
	took := 10 * time.Second
	k.rested.Store(clock.Now().Add(referenceShare * took).UnixNano())
	if ask(); !listed() {
		t.Error("who asks waits as who has changed what is referred to")
	}
	k.restedBriefly.Store(clock.Now().Add(took).UnixNano())
	ask()
	clock.Step(took - time.Second)
	if ask(); listed() {
		t.Error("the kind is listed more than half of the time")
	}
	clock.Step(time.Second)
	select {
	case <-s.references.due():
	default:
		t.Fatal("nothing tells that the time has come")
	}
	if !listed() {
		t.Error("what was asked for is forgotten")
	}
	if listed() || s.references.due() != nil {
		t.Error("a kind that was listed still waits")
	}
}

// TestChangesOfPoliciesListAKindAShareOfTheTime has policies change while a kind is listed, and after.
func TestChangesOfPoliciesListAKindAShareOfTheTime(t *testing.T) {
	clock := clocktesting.NewFakeClock(epoch)
	x := index.New(index.Options{Clock: clock, InForce: func(string) (string, bool) { return "", false }})
	gk := schema.GroupKind{Kind: "ConfigMap"}
	k := &kindScan{kind: gk, again: make(chan struct{}, 1)}
	s := &Scanner{catalog: catalog.New(catalog.Options{}), index: x, clock: clock, references: newReferenceChanges(nil),
		kinds: map[schema.GroupKind]*kindScan{gk: k}, opts: Options{ListShare: 0.25}}
	change := func() { s.references.ask(gk, clock.Now()) }
	listed := func(after time.Duration) bool {
		clock.Step(after)
		s.relistDue(clock.Now())
		select {
		case <-k.again:
			return true
		default:
			return false
		}
	}
	if change(); !listed(0) {
		t.Error("the first change waits")
	}
	const took = 10 * time.Second
	k.underway.Store(true)
	if change(); listed(took) || s.references.due() == nil {
		t.Error("the kind is to be listed again before it is known how long it rests, or the change is forgotten")
	}
	k.underway.Store(false)
	k.restedBriefly.Store(clock.Now().Add(s.opts.rest(took)).UnixNano())
	if listed(3*took - time.Second) {
		t.Error("it is listed more than a quarter of the time")
	}
	if !listed(time.Second) {
		t.Error("the change is forgotten")
	}
	s.opts.ListShare = 1
	k.restedBriefly.Store(clock.Now().Add(s.opts.rest(took)).UnixNano())
	if change(); !listed(0) {
		t.Error("without a bound the change waits")
	}
}
