// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// TestAFailedPartialPassIsTriedAgain has one fail in a row: until the whole kind is to be listed, what is left is tried
// again, and meanwhile other namespaces are gone through.
func TestAFailedPartialPassIsTriedAgain(t *testing.T) {
	clock := clocktesting.NewFakeClock(epoch)
	k := &kindScan{some: make(chan inventory.Namespaces, 1), scanner: &Scanner{clock: clock, log: logr.Discard(),
		slots: make(chan struct{}, 1)}}
	k.rested.Store(epoch.Add(time.Hour).UnixNano())
	p := &partialPasses{of: &pass{scan: k}, ended: make(chan outcome, 1)}
	fail := func(err error) {
		p.next, p.cancel = nil, func(error) {}
		p.end(outcome{inventory.InNamespaces("b"), err})
	}
	for _, delay := range []time.Duration{1, 2, 4, 8, 15} {
		if fail(errors.New("etcdserver: request timed out")); p.retry == nil || p.rest != nil || p.slot() != nil {
			t.Fatalf("after %d tries: what is left isn't tried again, or at once", p.tries)
		}
		clock.Step(delay*time.Second - 1)
		if len(p.again()) > 0 {
			t.Errorf("tried again before %d s", delay)
		}
		clock.Step(1)
		<-p.again()
		if p.tryAgain(); p.slot() == nil || len(p.next.Names()) != 1 {
			t.Error("what is left doesn't wait for a slot")
		}
	}
	fail(errors.New("etcdserver: request timed out"))
	if p.retry != nil || p.rest == nil || p.asked() == nil {
		t.Error("the whole kind isn't to be listed, or others wait for that")
	}
	first := p.rest
	for _, err := range []error{errWholeKind, errOlder, errIncomparable, errStalled, context.Canceled} {
		if fail(err); p.retry != nil || p.rest != first {
			t.Errorf("%v: it is tried again, or the whole kind waits anew", err)
		}
	}
}

// TestAPartialPassMayTakeLongWhileSomethingComes has something come three times before it is looked, and then nothing.
func TestAPartialPassMayTakeLongWhileSomethingComes(t *testing.T) {
	p := &partialPasses{}
	ctx, cancel := context.WithCancelCause(t.Context())
	looked := 0
	p.heed(ctx, cancel, tickerOf(func() {
		if looked++; looked <= 3 {
			p.came.Add(1)
		}
	}))
	if looked != 4 || !errors.Is(context.Cause(ctx), errStalled) {
		t.Errorf("it ends after %d times with %v", looked, context.Cause(ctx))
	}
}

// tickerOf ticks whenever it is waited for, once that is done.
type tickerOf func()

func (f tickerOf) C() <-chan time.Time {
	f()
	c := make(chan time.Time, 1)
	c <- epoch
	return c
}

func (tickerOf) Stop() {}
