// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// fanout tells every subscriber which policies changed. The zero value is ready.
type fanout struct {
	mu          sync.Mutex
	subscribers []*subscriber
	// start begins delivery to a subscriber; nil until run.
	start func(*subscriber)
}

func (f *fanout) subscribe() <-chan event.GenericEvent {
	s := &subscriber{pending: map[string]struct{}{}, wake: make(chan struct{}, 1), out: make(chan event.GenericEvent)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subscribers = append(f.subscribers, s)
	if f.start != nil {
		f.start(s)
	}
	return s.out
}

// notify never blocks: names wait in a set until the subscriber takes them.
func (f *fanout) notify(names ...string) {
	if len(names) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.subscribers {
		s.add(names)
	}
}

func (f *fanout) run(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.start = func(s *subscriber) { go s.deliver(ctx) }
	for _, s := range f.subscribers {
		f.start(s)
	}
}

type subscriber struct {
	mu      sync.Mutex
	pending map[string]struct{}
	wake    chan struct{}
	out     chan event.GenericEvent
}

func (s *subscriber) add(names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		s.pending[name] = struct{}{}
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *subscriber) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := slices.Sorted(maps.Keys(s.pending))
	clear(s.pending)
	return names
}

func (s *subscriber) deliver(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		for _, name := range s.take() {
			p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
			select {
			case <-ctx.Done():
				return
			case s.out <- event.GenericEvent{Object: p}:
			}
		}
	}
}
