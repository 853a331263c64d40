// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// expiryPoll is how late people and the scan may be told that nothing has been heard of a kind for too long. Who asks
// for it is told at once.
const expiryPoll = 5 * time.Second

// Runner keeps a Store in step with the policies in force. It runs on every replica.
type Runner struct {
	Store    *Store
	Policies Policies
	// ready says that Check has given its consent once.
	ready atomic.Bool
}

// Check is a readiness check: nil from when all policies are known and each kind that they refer to has been tried to
// list. One that can't be listed doesn't keep a replica from serving, nor does one that a policy refers to later: the
// policies say so, and the others are judged.
func (r *Runner) Check(*http.Request) error {
	if r.ready.Load() {
		return nil
	}
	if !r.Policies.Complete() {
		return errors.New("what policies refer to isn't known yet: the initial list of policies is being compiled")
	}
	r.Store.mu.RLock()
	defer r.Store.mu.RUnlock()
	var waiting []string
	for key, reference := range r.Policies.Snapshot().References() {
		if f := r.Store.followers[key]; f == nil || !f.tried() {
			waiting = append(waiting, reference.String())
		}
	}
	if len(waiting) == 0 {
		r.ready.Store(true)
		return nil
	}
	slices.Sort(waiting)
	return fmt.Errorf("the objects that policies refer to are being listed: %s", strings.Join(waiting, ", "))
}

// NeedLeaderElection says that every replica has its own.
func (*Runner) NeedLeaderElection() bool { return false }

// Start follows what the policies refer to until ctx ends.
func (r *Runner) Start(ctx context.Context) error {
	changed := r.Policies.Subscribe()
	var running sync.WaitGroup
	defer running.Wait()
	r.Store.follow(ctx, &running, r.Policies.Snapshot().References())
	expiry := r.Store.options.Clock.NewTicker(expiryPoll)
	defer expiry.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			r.Store.follow(ctx, &running, r.Policies.Snapshot().References())
		case <-r.Store.reviewed:
			r.Policies.Advance()
		case <-expiry.C():
			r.Store.expire()
			r.Policies.Advance()
		}
	}
}

// expire tells of each kind of which nothing has been heard for too long.
func (s *Store) expire() {
	s.mu.RLock()
	followers := slices.Collect(maps.Values(s.followers))
	s.mu.RUnlock()
	for _, f := range followers {
		f.expire()
	}
}

// follow follows these references and no others. Where they have changed, those that didn't fit may fit by now.
func (s *Store) follow(ctx context.Context, running *sync.WaitGroup, wanted map[string]inventory.Reference) {
	s.mu.Lock()
	defer s.mu.Unlock()
	differ := false
	for key, f := range s.followers {
		if _, still := wanted[key]; !still {
			f.stop()
			f.share.leave()
			delete(s.followers, key)
			clear(s.joined)
			differ = true
		}
	}
	for key, r := range wanted {
		if s.followers[key] != nil {
			continue
		}
		own, stop := context.WithCancel(ctx)
		f := newFollower(s, r)
		f.stop = stop
		s.followers[key] = f
		differ = true
		running.Go(func() { f.run(own) })
	}
	if !differ {
		return
	}
	for _, f := range s.followers {
		f.retry()
	}
}
