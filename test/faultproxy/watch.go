// SPDX-License-Identifier: Apache-2.0

package faultproxy

import "context"

// IsWatch says whether the request is a watch, which is answered for as long as
// it lasts.
func (r Request) IsWatch() bool { return r.Query.Get("watch") == "true" || r.Query.Get("watch") == "1" }

// DropWatches cuts every watch that is under way, and says how many there were.
func (p *Proxy) DropWatches() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, drop := range p.watches {
		drop()
	}
	return len(p.watches)
}

// watching keeps a watch until it is forgotten, so that it can be dropped.
func (p *Proxy) watching(ctx context.Context) (dropped context.Context, forget func()) {
	ctx, drop := context.WithCancel(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watches == nil {
		p.watches = map[int]context.CancelFunc{}
	}
	p.watched++
	key := p.watched
	p.watches[key] = drop
	return ctx, func() {
		drop()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.watches, key)
	}
}
