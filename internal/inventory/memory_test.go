// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// TestWhoGoesWhenMemoryIsFull goes through who grows past the limit, and who counts as unknown for it.
func TestWhoGoesWhenMemoryIsFull(t *testing.T) {
	type has struct {
		kept, listed int64
	}
	cases := map[string]struct {
		reason string
		shares map[string]has
		grows  string
		by     int64
		gone   []string
		used   int64
	}{
		"what fits stays": {
			reason: "the limit itself may be taken",
			shares: map[string]has{"a": {kept: 50}, "b": {kept: 40}}, grows: "b", by: 10, used: 100,
		},
		"a known kind that grows past the limit goes": {
			reason: "whoever makes objects without end loses their kind and no other",
			shares: map[string]has{"a": {kept: 35}, "b": {kept: 60}}, grows: "b", by: 6, gone: []string{"b"}, used: 35,
		},
		"a kind that grows and is no larger than its part stays": {
			reason: "somebody who fills the memory with another kind can't turn this one off",
			shares: map[string]has{"a": {kept: 2}, "b": {kept: 97}}, grows: "a", by: 2, gone: []string{"b"}, used: 4,
		},
		"a kind that is being listed goes before a known one": {
			reason: "the retry of a kind that doesn't fit must not drive out those that do",
			shares: map[string]has{"a": {kept: 60}, "b": {listed: 39}}, grows: "a", by: 2, gone: []string{"b"},
			used: 62,
		},
		"a kind that is being listed doesn't drive out a known one": {
			reason: "two that don't fit together would drive each other out in turn for ever",
			shares: map[string]has{"a": {kept: 99}, "b": {listed: 1}}, grows: "b", by: 1, gone: []string{"b"}, used: 99,
		},
		"the largest of those that are being listed goes": {
			reason: "after a start all are: the flooded one mustn't be the one that stays",
			shares: map[string]has{"a": {listed: 2}, "b": {listed: 97}}, grows: "a", by: 2, gone: []string{"b"},
			used: 4,
		},
		"a known kind that is listed anew is a known one": {
			reason: "that it is listed says nothing",
			shares: map[string]has{"a": {kept: 45, listed: 5}, "b": {kept: 49}}, grows: "b", by: 2, gone: []string{"b"},
			used: 50,
		},
		"several go where one isn't enough": {
			reason: "one object may be large",
			shares: map[string]has{"a": {kept: 40}, "b": {listed: 10}, "c": {listed: 9}}, grows: "a", by: 61,
			gone: []string{"b", "c", "a"}, used: 0,
		},
		"of equals, the last by name goes": {
			reason: "every replica decides alike",
			shares: map[string]has{"a": {kept: 2}, "b": {kept: 49}, "c": {kept: 49}}, grows: "a", by: 1,
			gone: []string{"c"}, used: 52,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := newMemory(100)
			var gone []string
			for key, has := range tc.shares {
				s := m.join(key, func(err error) {
					if !errors.As(err, new(*TooLargeError)) {
						t.Errorf("%s: %v", key, err)
					}
					gone = append(gone, key)
				})
				s.kept, s.listed, s.known = has.kept, has.listed, has.kept > 0
				m.used += has.kept + has.listed
			}
			grown := m.shares[tc.grows]
			take := grown.keep
			if !grown.known {
				take = grown.list
			}
			fits := take(tc.by)
			if diff := cmp.Diff(tc.gone, gone); diff != "" || m.used != tc.used {
				t.Errorf("%s: %d are used, want %d; gone (-want +got):\n%s", tc.reason, m.used, tc.used, diff)
			}
			if fits == grown.isRefused() {
				t.Errorf("%s: taken is %t where refused is %t", tc.reason, fits, grown.isRefused())
			}
		})
	}
}

func TestAShareIsGivenBack(t *testing.T) {
	m := newMemory(100)
	s := m.join("a", func(error) {})
	s.list(60)
	s.begin()
	s.list(60)
	if s.isRefused() || m.used != 60 {
		t.Errorf("a list that begins anew takes the memory of the one before it: %d", m.used)
	}
	s.list(60)
	if s.list(1) || m.used != 0 {
		t.Errorf("what is refused takes %d", m.used)
	}
	if s.commit(inventory.NewTable(inventory.Reference{Kind: "A"}, "v1")) {
		t.Error("the list of a kind that is refused ends well")
	}
	s.begin()
	if !s.list(70) {
		t.Error("what was refused isn't tried again")
	}
	again := m.join("a", nil)
	s.leave()
	if m.used != 0 || m.shares["a"] != again {
		t.Errorf("a share that leaves keeps %d, and takes along the one that came in its place", m.used)
	}
}

// reading is a follower in the middle of a pass, with what its reflector would feed.
func reading(s *Store, kind string) (*follower, *sink, context.Context) {
	f := newFollower(s, inventory.Reference{Kind: kind, Selector: labels.Everything()})
	s.followers[f.key] = f
	ctx, halt := context.WithCancelCause(context.Background())
	f.mayHalt(halt)
	table := inventory.NewTable(f.reference, "v1")
	return f, &sink{kind: schema.GroupVersionKind{Version: "v1", Kind: kind}, table: table, share: f.share,
		changed: func() {}, listed: func() { f.listed(table) }, read: func() {}}, ctx
}

func configMap(i int) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": fmt.Sprintf("n%d", i%10), "name": fmt.Sprintf("c%d", i)},
		"data":     map[string]any{"a": strings.Repeat("x", 1000) + fmt.Sprint(i)}}}
}

func allocated() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestAFloodOfObjectsIsRefused has somebody who may write ConfigMaps in a namespace make many times as many as
// there is memory for, before the manager starts and while it watches.
func TestAFloodOfObjectsIsRefused(t *testing.T) {
	const limit, flood = 4 << 20, 50_000
	for name, watched := range map[string]bool{"before they are listed": false, "while they are watched": true} {
		t.Run(name, func(t *testing.T) {
			s := New(Options{MaxMemory: limit, Clock: clocktesting.NewFakeClock(time.Unix(1_000_000, 0))})
			nodes, theirs, _ := reading(s, "Node")
			if err := theirs.Replace([]any{configMap(1)}, "1"); err != nil {
				t.Fatal(err)
			}
			flooded, into, pass := reading(s, "ConfigMap")
			both := []inventory.Reference{flooded.reference, nodes.reference}
			before := allocated()
			var listed []any // as a reflector keeps it until the list ends
			if watched {
				if err := into.Replace(nil, "1"); err != nil {
					t.Fatal(err)
				}
			}
			for i := range flood {
				if !watched {
					k, err := into.collect(configMap(i))
					if err != nil {
						t.Fatal(err)
					}
					listed = append(listed, k)
					continue
				}
				if err := into.Add(configMap(i)); err != nil {
					t.Fatal(err)
				}
				if all, err := s.Tables(both); err == nil && i%500 == 0 {
					all.View()
				}
			}
			into = nil
			if took := allocated() - before; took > 3*limit/2 {
				t.Errorf("the flood takes %d bytes, where %d may be taken", took, limit)
			}
			if tooLarge := new(TooLargeError); !errors.As(context.Cause(pass), &tooLarge) {
				t.Errorf("the list and the watch go on: %v", context.Cause(pass))
			}
			_, err := s.Tables(both)
			for _, part := range []string{"ConfigMap: ", "--reference-max-memory=4Mi", "fields", "selector",
				"spec.match.references"} {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("who looks ConfigMaps up is told %v, which lacks %q", err, part)
				}
			}
			if _, err := s.Tables(both[1:]); err != nil {
				t.Errorf("Nodes aren't known either: %v", err)
			}
			if !s.Take()[flooded.key] {
				t.Error("that the kind isn't known any more isn't told, so old verdicts stay")
			}
			runtime.KeepAlive(listed)
			runtime.KeepAlive(s)
		})
	}
}

// TestWhatWasRefusedIsKnownAgain has the objects that didn't fit go.
func TestWhatWasRefusedIsKnownAgain(t *testing.T) {
	s := New(Options{MaxMemory: 1 << 20, Clock: clocktesting.NewFakeClock(time.Unix(1_000_000, 0))})
	f, into, _ := reading(s, "ConfigMap")
	for i := range 2000 {
		if _, err := into.collect(configMap(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := into.Replace([]any{configMap(1)}, "1"); !errors.Is(err, errNoRoom) {
		t.Errorf("the end of a list that didn't fit makes its kind known: %v", err)
	}
	f.retry()
	if len(f.again) != 1 {
		t.Fatal("a kind that was refused isn't tried when the policies change")
	}
	f.share.begin()
	if err := into.Replace([]any{configMap(1)}, "2"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Tables([]inventory.Reference{f.reference}); err != nil {
		t.Errorf("what fits by now isn't known: %v", err)
	}
	<-f.again
	f.retry()
	if len(f.again) != 0 {
		t.Error("a kind that is known is listed anew whenever the policies change")
	}
}

func TestAKindThatDoesntFitIsTriedLessAndLess(t *testing.T) {
	b := backoff{first: firstRefit, last: lastRefit}
	var got []time.Duration
	for range 7 {
		got = append(got, b.after(time.Second))
	}
	got = append(got, b.after(lastRefit+1))
	want := []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute,
		10 * time.Minute, 10 * time.Minute, 30 * time.Second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}
