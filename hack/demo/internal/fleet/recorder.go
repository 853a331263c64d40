// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Write is one change of a Deployment's specification.
type Write struct {
	Object types.NamespacedName
	// Generation is the one that the write made.
	Generation int64
	// At is when the watch told of it.
	At time.Time
	// Manager is the field manager that wrote.
	Manager string
}

// Recorder keeps every write to the fleet's specifications, in the order of the
// API server's watch, which leaves none out.
type Recorder struct {
	now func() time.Time

	mu     sync.Mutex
	known  map[types.NamespacedName]*appsv1.Deployment
	writes []Write
	err    error
}

// NewRecorder returns a Recorder that tells times by now.
func NewRecorder(now func() time.Time) *Recorder {
	return &Recorder{now: now, known: map[types.NamespacedName]*appsv1.Deployment{}}
}

// Start records from now on until ctx ends.
func (r *Recorder) Start(ctx context.Context, c client.WithWatch) error {
	first, err := Take(ctx, c)
	if err != nil {
		return err
	}
	r.known = first.Items
	events, err := c.Watch(ctx, &appsv1.DeploymentList{}, &client.ListOptions{
		Raw: &metav1.ListOptions{ResourceVersion: first.resourceVersion},
	})
	if err != nil {
		return fmt.Errorf("watch the Deployments: %w", err)
	}
	go func() {
		defer events.Stop()
		for event := range events.ResultChan() {
			r.observe(event)
		}
		if ctx.Err() == nil {
			r.fail(errors.New("the watch ended"))
		}
	}()
	return nil
}

func (r *Recorder) observe(event watch.Event) {
	d, ok := event.Object.(*appsv1.Deployment)
	if !ok {
		r.fail(fmt.Errorf("the watch told of %s %T", event.Type, event.Object))
		return
	}
	if !slices.Contains(Namespaces(), d.Namespace) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := client.ObjectKeyFromObject(d)
	before, known := r.known[key]
	if event.Type == watch.Deleted {
		delete(r.known, key)
		return
	}
	r.known[key] = d
	if known && before.UID == d.UID && before.Generation == d.Generation {
		return
	}
	r.writes = append(r.writes, Write{Object: key, Generation: d.Generation, At: r.now(), Manager: writer(before, d)})
}

func (r *Recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = fmt.Errorf("the record of writes has a gap: %w", err)
}

// Mark is a place in the record, for [Recorder.Since].
func (r *Recorder) Mark() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.writes)
}

// Since is every write since a mark. It errs when some may be missing.
func (r *Recorder) Since(mark int) ([]Write, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.writes[mark:]), r.err
}

// writer is the field manager whose record of the specification changed last.
func writer(before, after *appsv1.Deployment) string {
	old := map[string]*metav1.Time{}
	if before != nil {
		for _, entry := range before.ManagedFields {
			old[entryKey(entry)] = entry.Time
		}
	}
	var latest *metav1.Time
	name := ""
	for _, entry := range after.ManagedFields {
		if entry.Subresource == "status" || entry.Time.Equal(old[entryKey(entry)]) {
			continue
		}
		if latest == nil || latest.Before(entry.Time) {
			latest, name = entry.Time, entry.Manager
		}
	}
	return name
}

func entryKey(entry metav1.ManagedFieldsEntry) string {
	return fmt.Sprintf("%s/%s/%s", entry.Manager, entry.Operation, entry.Subresource)
}
