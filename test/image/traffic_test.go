// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/test/fixture"
)

const (
	// rate is how many reviews a second are sent to the webhook.
	rate = 200
	// inFlight bounds how many of them wait for an answer, so that a machine that is
	// too slow for the rate sends fewer, and not ever more at once.
	inFlight = 25
)

// traffic asks for admission at a steady rate, as the API server does, and counts the
// answers. Beside it the API server itself asks: objects are created without a pause.
type traffic struct {
	asked                                   *reviewer
	sent, denied, allowed, created, refused atomic.Int64
	mu                                      sync.Mutex
	lost                                    []string
	end                                     context.CancelFunc
	running                                 sync.WaitGroup
	began                                   time.Time
	took                                    time.Duration
}

// startTraffic sends until stop, at the latest until the spec ends.
func startTraffic(ctx context.Context) *traffic {
	GinkgoHelper()
	t := &traffic{asked: newReviewer(ctx), began: time.Now()}
	ctx, t.end = context.WithCancel(context.WithoutCancel(ctx))
	DeferCleanup(t.stop)
	due := make(chan int64)
	for range inFlight {
		t.running.Go(func() {
			for n := range due {
				t.review(context.WithoutCancel(ctx), n)
			}
		})
	}
	t.running.Go(func() { t.pace(ctx, due) })
	t.running.Go(func() {
		for n := int64(0); ctx.Err() == nil; n++ {
			t.create(context.WithoutCancel(ctx), n)
		}
	})
	return t
}

// pace says when each review is due: all that are since the last tick, because the ticks
// of a busy machine come late.
func (t *traffic) pace(ctx context.Context, due chan<- int64) {
	defer close(due)
	tick := time.NewTicker(time.Second / rate)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			for ; last.Before(now); last = last.Add(time.Second / rate) {
				due <- t.sent.Add(1)
			}
			last = later(last, time.Now().Add(-time.Second)) // what is late by more isn't made up for
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// object complies, every other one, or lacks a label.
func object(n int64) (*appsv1.Deployment, bool) {
	o := fixture.Deployment(guarded, fmt.Sprintf("object-%d", n))
	if n%2 == 0 {
		o.Spec.Template.Labels["team"] = "core"
	}
	return o, n%2 == 0
}

// review sends a review to the webhook's address.
func (t *traffic) review(ctx context.Context, n int64) {
	o, good := object(n)
	allowed, message, err := t.asked.ask(ctx, o)
	switch {
	case err == nil && good && allowed:
		t.allowed.Add(1)
	case err == nil && !good && !allowed && strings.Contains(message, "label team is missing"):
		t.denied.Add(1)
	default:
		t.lose("review", n, fmt.Errorf("good: %t, allowed: %t, %q: %w", good, allowed, message, err))
	}
}

// create has the API server ask.
func (t *traffic) create(ctx context.Context, n int64) {
	o, good := object(n)
	err := api.Create(ctx, o, client.DryRunAll)
	switch {
	case good && err == nil:
		t.created.Add(1)
	case !good && err != nil && strings.Contains(err.Error(), "label team is missing"):
		t.refused.Add(1)
	default:
		t.lose("create", n, err)
	}
}

func (t *traffic) lose(what string, n int64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost = append(t.lost, fmt.Sprintf("%s %d after %s: %v", what, n, time.Since(t.began).Round(time.Millisecond),
		err))
}

// stop ends the traffic and waits for the last answers.
func (t *traffic) stop() {
	if t.took == 0 {
		t.took = time.Since(t.began)
	}
	t.end()
	t.running.Wait()
}

// awaitMore waits until so many more reviews have been answered, and some objects created.
func (t *traffic) awaitMore(ctx context.Context, n int64) {
	GinkgoHelper()
	answered, created := t.denied.Load()+t.allowed.Load(), t.created.Load()
	Eventually(ctx, func() bool {
		return t.denied.Load()+t.allowed.Load()-answered >= n && t.created.Load() > created+5
	}).Should(BeTrue())
}

// String are the figures.
func (t *traffic) String() string {
	return fmt.Sprintf(
		"%d reviews in %s, %.0f a second: %d denied, %d allowed; by the API server %d refused, %d created; %d failed",
		t.sent.Load(), t.took.Round(time.Second), float64(t.sent.Load())/t.took.Seconds(), t.denied.Load(),
		t.allowed.Load(),
		t.refused.Load(), t.created.Load(), len(t.lost))
}
