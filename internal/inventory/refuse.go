// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// Delays until a kind whose objects didn't fit, or couldn't be kept, is listed again.
const (
	firstRefit = 30 * time.Second
	lastRefit  = 10 * time.Minute
)

// backoff is how long to wait after one failure more.
type backoff struct{ first, last, next time.Duration }

// after begins anew after an attempt that lasted longer than the longest wait.
func (b *backoff) after(lasted time.Duration) time.Duration {
	if lasted > b.last || b.next == 0 {
		b.next = b.first
	}
	wait := b.next
	b.next = min(2*wait, b.last)
	return wait
}

// pause waits, until somebody asks to go on.
func (f *follower) pause(ctx context.Context, d time.Duration) {
	t := f.store.options.Clock.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-f.again:
	case <-t.C():
	}
}

// retry has a kind whose objects didn't fit be listed at once.
func (f *follower) retry() {
	if !f.share.isRefused() {
		return
	}
	select {
	case f.again <- struct{}{}:
	default:
	}
}

// mayHalt says how the pass that begins is ended.
func (f *follower) mayHalt(halt context.CancelCauseFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.halt = halt
}

// refuse drops what doesn't fit into memory.
func (f *follower) refuse(why error) {
	f.lose(why)
	f.store.options.Log.Info("What policies refer to doesn't fit into memory, and counts as unknown", "kind",
		f.reference.String(), "problem", why.Error())
}

// keepError says that a kind isn't known because one of its objects can't be kept: without it, rules would take it for
// one that isn't there.
type keepError struct {
	object string
	err    error
}

func (e *keepError) Error() string {
	return fmt.Sprintf("the object %s can't be kept, and without it the others say too little: %v; correct it, or "+
		"leave it out with selector in spec.match.references; it is tried again by itself", e.object, e.err)
}

func (e *keepError) Unwrap() error { return e.err }

// cantKeep drops all for the sake of one object.
func (f *follower) cantKeep(why error) {
	f.share.refuseAll()
	f.lose(why)
	f.store.options.Log.Error(why, "What policies refer to counts as unknown", "kind", f.reference.String())
}

// lost says that nothing is held any more, and that it takes time until that changes.
func lost(err error) bool {
	return errors.As(err, new(*TooLargeError)) || errors.As(err, new(*keepError))
}

// lose drops all that is held: who asks is told why, and never that there is no object.
func (f *follower) lose(why error) {
	f.mu.Lock()
	f.held, f.asked, f.problem = nil, true, why
	f.watched, f.seen = nil, ""
	if f.halt != nil {
		f.halt(why)
	}
	f.mu.Unlock()
	f.store.forget()
	f.store.tell(f.key)
	f.review()
}

// chosen reads those objects of a resource that a selector chooses.
type chosen struct {
	dynamic.ResourceInterface
	selector string
}

func (c chosen) List(ctx context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	o.LabelSelector = c.selector
	return c.ResourceInterface.List(ctx, o)
}

// Watch is told of an object that is chosen no more as of a deleted one.
func (c chosen) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	o.LabelSelector = c.selector
	return c.ResourceInterface.Watch(ctx, o)
}
