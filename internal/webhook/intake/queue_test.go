// SPDX-License-Identifier: Apache-2.0

package intake_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/internal/webhook/intake"
)

func key(peer, flow string) intake.Key { return intake.Key{Peer: peer, Flow: flow} }

// waiting starts to acquire, and returns once the queue knows of it.
func waiting(t *testing.T, q *intake.Queue, k intake.Key, weight int64) chan func() {
	t.Helper()
	_, before := q.Load()
	got := make(chan func(), 1)
	go func() {
		release, err := q.Acquire(t.Context(), k, weight)
		if err != nil {
			release = nil
		}
		got <- release
	}()
	deadline := time.Now().Add(10 * time.Second)
	for _, now := q.Load(); now == before; _, now = q.Load() {
		if time.Now().After(deadline) {
			t.Fatal("it doesn't wait")
		}
		runtime.Gosched()
	}
	return got
}

func acquire(t *testing.T, q *intake.Queue, k intake.Key, weight int64) func() {
	t.Helper()
	release, err := q.Acquire(t.Context(), k, weight)
	if err != nil {
		t.Fatal(err)
	}
	return release
}

func TestWhoHoldsLeastIsServedFirst(t *testing.T) {
	q := &intake.Queue{Capacity: 100, Slots: 100, Waiting: 100}
	greedy, modest := key("10.0.0.1", "greedy"), key("10.0.0.1", "modest")
	releases := []func(){acquire(t, q, greedy, 40), acquire(t, q, key("10.0.0.1", "third"), 30)}
	first := waiting(t, q, greedy, 40)
	second := waiting(t, q, greedy, 40)
	late := waiting(t, q, modest, 40)
	releases[0]()
	(<-late)() // though it came last
	(<-first)()
	(<-second)()
	releases[1]()
	if held, n := q.Load(); held != 0 || n != 0 {
		t.Errorf("%d are held, %d wait", held, n)
	}
}

func TestNobodyHoldsMoreThanTheirShareWhileHoldingSomething(t *testing.T) {
	q := &intake.Queue{Capacity: 100, Slots: 8, Waiting: 100}
	for name, tc := range map[string]struct {
		held  intake.Key
		next  intake.Key
		waits bool
	}{
		"a flow has half of the whole":               {held: key("a", "1"), next: key("a", "1"), waits: true},
		"an address has three quarters, by any flow": {held: key("a", "1"), next: key("a", "2"), waits: true},
		"another address isn't touched by either":    {held: key("a", "1"), next: key("b", "1")},
		"names made up at one address win it no share": {held: key("a", "made up"), next: key("a", "made up too"),
			waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			release := acquire(t, q, tc.held, 50)
			defer release()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			next, err := q.Acquire(ctx, tc.next, 30)
			if errors.Is(err, intake.ErrBusy) != tc.waits {
				t.Errorf("waits: %v, want %t", err, tc.waits)
			}
			if err == nil {
				next()
			}
		})
	}
}

func TestSlotsAreSharedLikeWeight(t *testing.T) {
	q := &intake.Queue{Capacity: 1000, Slots: 4, Waiting: 100}
	defer acquire(t, q, key("a", "1"), 1)()
	defer acquire(t, q, key("a", "1"), 1)()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := q.Acquire(ctx, key("a", "1"), 1); !errors.Is(err, intake.ErrBusy) {
		t.Errorf("a third of four: %v", err)
	}
	acquire(t, q, key("a", "2"), 1)()
}

func TestAFullQueueTurnsAwayWhoHasMostInIt(t *testing.T) {
	q := &intake.Queue{Capacity: 10, Slots: 10, Waiting: 3}
	hold := acquire(t, q, key("a", "0"), 10)
	flood := []chan func(){waiting(t, q, key("a", "1"), 10), waiting(t, q, key("a", "1"), 10),
		waiting(t, q, key("a", "1"), 10)}
	victim := make(chan func(), 1)
	go func() { victim <- acquire(t, q, key("b", "2"), 10) }()
	if turned := <-flood[2]; turned != nil {
		t.Error("the last of the flood isn't turned away")
	}
	hold()
	(<-victim)()
	(<-flood[0])()
	(<-flood[1])()
}

// Whatever comes in whatever order: no more is held than there is, whoever waits is
// served in the end, and nothing stays held.
func TestTheQueueHoldsItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := &intake.Queue{Capacity: int64(rapid.IntRange(1, 50).Draw(t, "capacity")),
			Slots: rapid.IntRange(1, 5).Draw(t, "slots"), Waiting: 1000}
		callers := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) intake.Key {
			return key(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "peer"),
				rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "flow"))
		}), 1, 30).Draw(t, "callers")
		weights := rapid.SliceOfN(rapid.Int64Range(1, 60), len(callers), len(callers)).Draw(t, "weights")
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		var all sync.WaitGroup
		failed := make(chan error, len(callers))
		for i, k := range callers {
			all.Go(func() {
				release, err := q.Acquire(ctx, k, weights[i])
				if err != nil {
					failed <- err
					return
				}
				if held, _ := q.Load(); held > q.Capacity {
					failed <- errors.New("more is held than there is")
				}
				release()
				release() // twice is once
			})
		}
		all.Wait()
		select {
		case err := <-failed:
			t.Fatal(err)
		default:
		}
		if held, n := q.Load(); held != 0 || n != 0 {
			t.Fatalf("%d are held, %d wait", held, n)
		}
	})
}
