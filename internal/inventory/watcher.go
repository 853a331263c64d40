// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"

	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
	"evenkeel.dev/evenkeel/internal/scan/listing"
)

// watcher lists a kind once and watches it from there.
type watcher struct {
	follower  *follower
	resource  schema.GroupResource
	sink      *sink
	reflector *cache.Reflector
	stop      context.CancelFunc
	// listed is closed when the list has ended well, and ended has the reason once nothing is watched any more.
	listed chan struct{}
	ended  chan error
}

// begin has somebody list and watch: into the table that is held, if it is of the version that the cluster serves now.
// Where somebody else still watches, what it brings is put aside, until it is unfolded.
func (p *pass) begin(ctx context.Context, beside bool) (*watcher, error) {
	mapping, err := p.mapping()
	if err != nil {
		return nil, err
	}
	w := &watcher{follower: p.follower, resource: mapping.Resource.GroupResource(), listed: make(chan struct{}),
		ended: make(chan error, 1)}
	w.sink = p.sink(mapping, beside)
	w.sink.read = sync.OnceFunc(func() { close(w.listed) })
	w.sink.heard = w.heard
	w.reflector = p.reflector(mapping, w)
	if !beside {
		p.watch(w.reflector)
	}
	ctx, stop := context.WithCancelCause(ctx)
	w.stop = func() { stop(nil) }
	p.running.Go(func() {
		defer w.stop()
		err := w.reflector.ListAndWatchWithContext(ctx)
		switch {
		case errors.Is(context.Cause(ctx), errStalled):
			err = errStalled
		case err == nil:
			err = listing.ErrWatchEnded
		}
		w.ended <- p.explain(w.resource, err)
	})
	p.running.Go(func() { w.heed(ctx, stop) })
	return w, nil
}

// heed ends a list that stands still: it may take as long as it likes while something comes.
func (w *watcher) heed(ctx context.Context, stop context.CancelCauseFunc) {
	look := w.follower.store.options.Clock.NewTicker(stalledLook)
	defer look.Stop()
	for before := int64(-1); ; {
		select {
		case <-ctx.Done():
			return
		case <-w.listed:
			return
		case <-look.C():
		}
		now := w.sink.came.Load()
		if now == before {
			stop(errStalled)
			return
		}
		before = now
	}
}

func (f *follower) mapping() (*meta.RESTMapping, error) {
	var versions []string
	if f.reference.Version != "" {
		versions = append(versions, f.reference.Version)
	}
	mapping, err := f.store.options.Resolver.Resolve(f.kind(), versions...)
	if err != nil {
		return nil, f.explain(schema.GroupResource{}, err)
	}
	return mapping, nil
}

func (f *follower) kind() schema.GroupKind {
	return schema.GroupKind{Group: f.reference.Group, Kind: f.reference.Kind}
}

func (f *follower) explain(resource schema.GroupResource, err error) error {
	return &listing.KindError{Kind: f.kind(), Version: f.reference.Version, Resource: resource, Err: err,
		Field: listing.ReferencesField}
}

// sink takes what is read into the table that is held, or a new one in another version.
func (f *follower) sink(m *meta.RESTMapping, beside bool) *sink {
	f.mu.Lock()
	table := f.held
	f.mu.Unlock()
	groupVersion := m.GroupVersionKind.GroupVersion().String()
	if table == nil || table.GroupVersion() != groupVersion {
		table = inventory.NewTable(f.reference, groupVersion)
	}
	s := &sink{kind: m.GroupVersionKind, table: table, share: f.share, fail: f.cantKeep,
		changed: func() { f.store.tell(f.key) }, listed: func() { f.listed(table) }}
	if beside {
		s.aside = map[string]inventory.Item{}
	}
	return s
}

func (f *follower) reflector(m *meta.RESTMapping, w *watcher) *cache.Reflector {
	client := f.store.options.Client
	lw := w.sink.beginning(listing.ListWatch(chosen{client.Resource(m.Resource), f.reference.Selector.String()},
		listing.DefaultPage, w.sink.collect, w.onWatch))
	return cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(lw, client), nil, w.sink,
		cache.ReflectorOptions{Name: "inventory", TypeDescription: w.resource.String(), Clock: f.store.options.Clock,
			Backoff: &wait.Backoff{Duration: firstRetry, Factor: 2, Steps: 5, Cap: lastRetry}})
}

// onWatch passes on how each attempt to watch ended, unless somebody else watches.
func (w *watcher) onWatch(initial bool, err error) {
	if !w.sink.isAside() {
		w.follower.onWatch(initial, err)
	}
}

// heard is told of each event of the watch, and passes on those that show the newest of what the table holds.
func (w *watcher) heard() {
	select {
	case <-w.listed:
		if !w.sink.isAside() {
			w.follower.alive()
		}
	default: // what a list brings, as events
	}
}

// shows says that it has come as far as a resourceVersion.
func (w *watcher) shows(far string) bool {
	now := w.reflector.LastSyncResourceVersion()
	if far == "" || now == "" {
		return far == ""
	}
	order, err := resourceversion.CompareResourceVersion(now, far)
	return err != nil || order >= 0 // what can't be compared is as new as its list
}
