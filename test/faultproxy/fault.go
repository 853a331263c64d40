// SPDX-License-Identifier: Apache-2.0

package faultproxy

import (
	"sync"
	"time"
)

// Fault is what happens to a request. The zero Fault lets it pass.
type Fault struct {
	// Before runs before the request is forwarded, and After when the API server
	// has answered it, before the answer is passed on.
	Before func(Request)
	After  func(Request, Answer)
	// Delay is waited before the request is forwarded.
	Delay time.Duration
	// LoseRequest cuts the connection instead of forwarding: nothing happens.
	LoseRequest bool
	// LoseAnswer forwards the request and cuts the connection instead of
	// answering: it happens, but the manager can't know.
	LoseAnswer bool
	// Answer is passed on instead of forwarding.
	Answer *Answer
}

// Answer is an answer to a request.
type Answer struct {
	Status int
	Body   []byte
}

// Match says which requests are meant.
type Match func(Request) bool

// Injection is a fault in place.
type Injection struct {
	match Match
	pick  func(nth int) bool
	fault Fault

	mu      sync.Mutex
	seen    int
	hits    int
	removed bool
}

// Seen is the number of matching requests so far.
func (i *Injection) Seen() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.seen
}

// Hits is the number of requests that the fault happened to.
func (i *Injection) Hits() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.hits
}

// Remove ends the injection; a fault under way goes on.
func (i *Injection) Remove() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.removed = true
}

func (i *Injection) take(r Request) (Fault, bool) {
	if !i.match(r) {
		return Fault{}, false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.removed {
		return Fault{}, false
	}
	i.seen++
	if !i.pick(i.seen) {
		return Fault{}, false
	}
	i.hits++
	return i.fault, true
}

// Every injects a fault into every matching request.
func (p *Proxy) Every(match Match, fault Fault) *Injection {
	return p.inject(match, fault, func(int) bool { return true })
}

// Nth injects a fault into the nth matching request from now on, counted from 1.
func (p *Proxy) Nth(n int, match Match, fault Fault) *Injection {
	return p.inject(match, fault, func(nth int) bool { return nth == n })
}

func (p *Proxy) inject(match Match, fault Fault, pick func(int) bool) *Injection {
	i := &Injection{match: match, pick: pick, fault: fault}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.injections = append(p.injections, i)
	return i
}

// Reset removes every injection.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range p.injections {
		i.Remove()
	}
	p.injections = nil
}

// faultFor is the fault of the first injection that picks the request. Every
// injection counts it.
func (p *Proxy) faultFor(r Request) Fault {
	p.mu.Lock()
	injections := append([]*Injection{}, p.injections...)
	p.mu.Unlock()
	var chosen Fault
	found := false
	for _, i := range injections {
		if fault, hit := i.take(r); hit && !found {
			chosen, found = fault, true
		}
	}
	return chosen
}
