// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"sync"
	"time"

	"evenkeel.dev/evenkeel/internal/scan/listing"
)

// catchUpPoll is how often it is looked whether a new watch has come as far as the one before it.
const catchUpPoll = 100 * time.Millisecond

// pass follows a kind until its watch breaks. Now and then the kind is listed anew, so that what a watch has missed is
// found: beside the watch, which goes on until a new one has come as far, so that all stays known meanwhile.
type pass struct {
	*follower
	running sync.WaitGroup
}

// run ends with the reason for which nothing is watched any more.
func (p *pass) run(ctx context.Context) error {
	own, halt := context.WithCancelCause(ctx)
	defer p.running.Wait()
	defer halt(nil)
	p.mayHalt(halt)
	current, err := p.begin(own, false)
	for err == nil {
		if err = p.await(current); err == nil {
			current, err = p.relist(own, current)
		}
	}
	if why := context.Cause(own); lost(why) {
		return why
	}
	return err
}

// silencePolls is how often in the time for which a watch may be silent it is looked whether it is.
const silencePolls = 12

// await waits until it is time to list anew, from when the list has ended that is under way: after the resync period,
// or once the watch has been silent for too long.
func (p *pass) await(w *watcher) error {
	select {
	case err := <-w.ended:
		return err
	case <-w.listed:
	}
	resync := p.store.options.Clock.NewTimer(listing.Spread(p.store.options.ResyncPeriod, p.key))
	defer resync.Stop()
	look := p.store.options.Clock.NewTicker(max(p.store.options.MaxSilence/silencePolls, time.Millisecond))
	defer look.Stop()
	for {
		select {
		case err := <-w.ended:
			return err
		case <-resync.C():
			return nil
		case <-look.C():
			if p.silent() {
				p.log(errSilent)
				return nil
			}
		}
	}
}

// relist gives who watches from now on: one that has listed anew and come as far as the old one, or the old one where
// that can't be.
func (p *pass) relist(ctx context.Context, old *watcher) (*watcher, error) {
	p.expire()
	p.store.options.Resolver.Refresh()
	next, err := p.begin(ctx, true)
	if err != nil {
		p.log(err)
		return old, nil
	}
	poll := p.store.options.Clock.NewTicker(catchUpPoll)
	defer poll.Stop()
	ended, listed := old.ended, next.listed
	for {
		select {
		case err := <-next.ended:
			if ended == nil {
				return nil, err
			}
			p.share.abandon()
			p.log(err)
			return old, nil
		case err := <-ended:
			ended = nil
			p.broke(ctx, err)
		case <-listed:
			listed = nil
		case <-poll.C():
			if p.expire(); listed != nil || !next.shows(p.at()) {
				continue
			}
			if ended == nil {
				p.watch(next.reflector)
				return next, next.sink.unfold()
			}
			old.stop() // it may have seen more meanwhile
			<-ended
			ended = nil
		}
	}
}

// broke notes that nobody watches, unless the pass is being ended.
func (p *pass) broke(ctx context.Context, err error) {
	if ctx.Err() == nil {
		p.failed(err)
	}
}
