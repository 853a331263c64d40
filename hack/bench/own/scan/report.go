// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"runtime"
	"time"

	"evenkeel.dev/evenkeel/hack/bench/own/internal/cpu"
	"evenkeel.dev/evenkeel/hack/bench/own/internal/memory"
)

// pollInterval is how often the scan is asked whether it is done.
const pollInterval = 50 * time.Millisecond

// report is what is printed.
type report struct {
	// Violated is how many policies some Pod violates, Violating how many Pods violate the one that most do.
	Violated  int `json:"violated"`
	Violating int `json:"violating"`
	Errors    int `json:"errors"`
	// Findings are what is found, where it is asked for.
	Findings []finding `json:"findings,omitempty"`
	// First is the first sync, from when the policies are in force until every Pod is judged by all of them.
	First figures `json:"first"`
	// Change is from the change of a policy until every Pod is judged by it.
	Change figures `json:"change"`
}

// finding is what a policy finds of one Pod.
type finding struct {
	Object string `json:"object"`
	// Message is the first of so many.
	Message    string `json:"message"`
	Violations int    `json:"violations"`
}

// figures are what one pass takes.
type figures struct {
	CPU  time.Duration `json:"cpu"`
	Time time.Duration `json:"time"`
	// Most is the most memory that was resident during the pass, Settled what is a while after it, and Live what the
	// heap then holds, in bytes.
	Most    int64 `json:"most"`
	Settled int64 `json:"settled"`
	Live    int64 `json:"live"`
	// Asked is what was asked of the API server during the pass, by verb and resource.
	Asked map[string]use `json:"asked"`
}

// use is what was asked for by one verb of one resource: apiserver.Use.
type use struct {
	Requests int64 `json:"requests"`
	Bytes    int64 `json:"bytes"`
}

// beginning is what was when a pass began.
type beginning struct {
	cpu   time.Duration
	at    time.Time
	asked map[string]use
}

func (b *bench) begin(ctx context.Context) (beginning, error) {
	asked, err := b.asked(ctx)
	if err != nil {
		return beginning{}, err
	}
	return beginning{cpu.Used(), time.Now(), asked}, memory.Forget()
}

// end reads the figures of a pass, and those of memory once more after a garbage collection and a while.
func (b *bench) end(ctx context.Context, began beginning) (figures, error) {
	f := figures{CPU: cpu.Used() - began.cpu, Time: time.Since(began.at)}
	var err error
	if f.Asked, err = b.asked(ctx); err != nil {
		return f, err
	}
	for name, before := range began.asked {
		now := f.Asked[name]
		f.Asked[name] = use{now.Requests - before.Requests, now.Bytes - before.Bytes}
		if now == before {
			delete(f.Asked, name)
		}
	}
	if _, f.Most, err = memory.Resident(); err != nil {
		return f, err
	}
	runtime.GC()
	var heap runtime.MemStats
	runtime.ReadMemStats(&heap)
	f.Live = int64(heap.HeapAlloc)
	time.Sleep(b.settle)
	f.Settled, _, err = memory.Resident()
	return f, err
}

// poll asks until something is so.
func poll(ctx context.Context, done func() bool) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}
