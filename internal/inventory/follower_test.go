// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// TestWhatIsntKnownIsAnError goes through what becomes of a watch: whoever looks something up is told an error
// until the first list, and again once nothing has been heard for too long.
func TestWhatIsntKnownIsAnError(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1_000_000, 0))
	s := New(Options{Clock: clock, MaxStaleness: time.Minute})
	r := inventory.Reference{Kind: "Service", Selector: labels.Everything()}
	asked := []inventory.Reference{r}
	known := func(want string) {
		t.Helper()
		_, err := s.Tables(asked)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, want %q", err, want)
		}
		if err != nil && !policy.LookupUnknown(err) {
			t.Errorf("%v isn't told as what passes by itself", err)
		}
	}
	known("Service: its objects aren't listed yet")
	f := newFollower(s, r)
	s.followers[r.Key()] = f
	known("aren't listed yet")
	f.failed(errors.New("forbidden"))
	known("forbidden")
	table := inventory.NewTable(r, "v1")
	f.listed(table)
	known("")
	if !s.Take()[r.Key()] || !s.TakeKnown()[r.Key()] {
		t.Error("that the kind is known by now isn't told, so nothing is judged anew")
	}
	f.failed(errors.New("connection refused"))
	clock.Step(time.Minute)
	known("")
	if len(s.Take()) > 0 {
		t.Error("a watch that has just broken off is told as a change")
	}
	clock.Step(time.Second)
	f.failed(errors.New("connection refused"))
	known("nothing has been heard of its objects for longer than --reference-max-staleness: connection refused")
	if !s.Take()[r.Key()] {
		t.Error("that the kind isn't known any more isn't told, so old verdicts stay")
	}
	if len(s.TakeKnown()) > 0 {
		t.Error("a kind that isn't known any more counts as one that has become known")
	}
	_, before := s.Tables(asked)
	clock.Step(10 * time.Second)
	if _, err := s.Tables(asked); err == nil || err.Error() != before.Error() {
		t.Errorf("the message changes with time alone, from %q to %v", before, err)
	}
	f.onWatch(false, nil)
	known("")
	if !s.Take()[r.Key()] || !s.TakeKnown()[r.Key()] {
		t.Error("that the kind is known again isn't told, so errors stay")
	}
}

// TestAReplicaThatIsReadyStaysSo holds readiness to the start: a policy that refers to something new, on every
// replica at once, must not take them all away from the API server.
func TestAReplicaThatIsReadyStaysSo(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1_000_000, 0))
	s := New(Options{Clock: clock})
	policies := catalog.New(catalog.Options{})
	refer := func(name, kind string) inventory.Reference {
		p := &v1alpha1.ClusterRegoPolicy{}
		p.Name = name
		p.Spec.Rego.Main = "package a\n\n" +
			"deny contains \"x\" if data.inventory.cluster.v1." + kind + "[input.object.a]\n"
		p.Spec.Match.Kinds = []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"ConfigMap"}}}
		p.Spec.Match.References = []v1alpha1.ReferencedKind{{Kind: kind}}
		if err := policies.Set(p); err != nil {
			t.Fatal(err)
		}
		return policies.Snapshot().ReferencesOf(name)[0]
	}
	r := &Runner{Store: s, Policies: policies}
	if err := r.Check(nil); err == nil || !strings.Contains(err.Error(), "policies") {
		t.Errorf("a replica that knows no policy yet is ready: %v", err)
	}
	first := refer("first", "Node")
	if err := r.Check(nil); err == nil {
		t.Error("a replica that knows some of the policies is ready")
	}
	policies.MarkComplete()
	if err := r.Check(nil); err == nil || !strings.Contains(err.Error(), "Node") {
		t.Errorf("a replica that knows nothing yet is ready: %v", err)
	}
	s.followers[first.Key()] = newFollower(s, first)
	if err := r.Check(nil); err == nil {
		t.Error("a replica that is still listing is ready")
	}
	clock.Step(patience + time.Second)
	if err := r.Check(nil); err != nil {
		t.Errorf("a list that never ends keeps a replica from serving: %v", err)
	}
	refer("second", "Namespace")
	if err := r.Check(nil); err != nil {
		t.Errorf("a policy takes a replica away: %v", err)
	}
}

// reached is a watch that has come as far as a resourceVersion.
type reached string

func (r reached) LastSyncResourceVersion() string { return string(r) }

// TestWhetherTheNewestChangeIsShown holds whoever writes to what the watch has shown, also while it is begun anew.
func TestWhetherTheNewestChangeIsShown(t *testing.T) {
	s := New(Options{})
	r := inventory.Reference{Kind: "Service", Selector: labels.Everything()}
	asked := func(resourceVersion string, want error) {
		t.Helper()
		if err := s.Shows(r, resourceVersion); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", resourceVersion, err, want)
		}
	}
	asked("7", errNotListed)
	f := &follower{reference: r, store: s, key: r.Key()}
	s.followers[r.Key()] = f
	asked("7", errNotListed)
	f.watch(reached("9"))
	asked("7", nil)
	asked("9", nil)
	asked("10", errBehind) // not as text: 10 is later than 9
	f.watch(reached(""))
	asked("9", nil)
	asked("10", errBehind)
	f.watch(reached("12"))
	asked("10", nil)
	if err := s.Shows(r, "v7"); err == nil || errors.Is(err, errBehind) {
		t.Errorf("what can't be compared counts as shown, or as behind: %v", err)
	}
}

func TestASinkTellsWhatChangesWhatRulesSee(t *testing.T) {
	r := inventory.Reference{Kind: "Service", Selector: labels.Everything(), Fields: []string{"spec.type"}}
	told := 0
	s := &sink{kind: schema.GroupVersionKind{Version: "v1", Kind: "Service"}, table: inventory.NewTable(r, "v1"),
		share: newMemory(DefaultMaxMemory).join(r.Key(), nil), changed: func() { told++ },
		listed: func() {}, read: func() {}}
	object := func(kind, other string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"namespace": "a", "name": "b"},
			"spec":     map[string]any{"type": kind, "other": other}}}
	}
	for i, step := range []struct {
		do   func() error
		told int
		len  int
	}{
		{func() error { return s.Replace([]any{object("ClusterIP", "x")}, "1") }, 1, 1},
		{func() error { return s.Update(object("ClusterIP", "y")) }, 1, 1},
		{func() error { return s.Replace([]any{object("ClusterIP", "z")}, "2") }, 1, 1},
		{func() error { return s.Update(object("NodePort", "z")) }, 2, 1},
		{func() error { return s.Delete(object("NodePort", "z")) }, 3, 0},
		{func() error { return s.Delete(object("NodePort", "z")) }, 3, 0},
		{func() error { return s.Add(object("NodePort", "z")) }, 4, 1},
		{func() error { return s.Replace(nil, "3") }, 5, 0},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if told != step.told || s.table.Len() != step.len {
			t.Errorf("step %d: told %d times, %d objects; want %d, %d", i, told, s.table.Len(), step.told, step.len)
		}
	}
	if err := s.Add("nonsense"); err == nil {
		t.Error("what is no object is taken")
	}
}

// TestThatTimeMakesAKindUnknownIsTold has a list take long after a watch has broken off: nothing fails meanwhile.
func TestThatTimeMakesAKindUnknownIsTold(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1_000_000, 0))
	s := New(Options{Clock: clock, MaxStaleness: time.Minute})
	r := inventory.Reference{Kind: "Service", Selector: labels.Everything()}
	f := newFollower(s, r)
	s.followers[f.key] = f
	table := inventory.NewTable(r, "v1")
	told := func(when string, known, want bool) {
		t.Helper()
		state := false
		select {
		case <-s.States():
			state = true
		default:
		}
		_, err := s.Tables([]inventory.Reference{r})
		if got := s.Take()[f.key]; got != want || state != want || (err == nil) != known {
			t.Errorf("%s: told %t, of the state %t, known %t (%v)", when, got, state, err == nil, err)
		}
	}
	f.listed(table)
	told("listed", true, true)
	f.failed(errors.New("reset"))
	clock.Step(time.Minute)
	s.expire()
	told("it may be so old", true, false)
	clock.Step(time.Second)
	s.expire()
	told("it is too old", false, true)
	s.expire()
	told("it still is", false, false)
	f.listed(table)
	told("it is listed anew", true, true)
	f.failed(errors.New("reset"))
	clock.Step(2 * time.Minute)
	f.listed(table)
	told("it was too old before anybody looked", true, true)
}
