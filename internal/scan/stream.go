// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"evenkeel.dev/evenkeel/internal/scan/index"
)

// progressEvery is after how many objects of a stream the reflector is told that it goes on: it warns of one that seems
// to stand still.
const progressEvery = 256

// beginning has the list that a watch begins with taken up here, record by record. The reflector would keep an entry
// for each object, with a name of its own, until the list ends: as much again as the records take. It is given the end
// of the list, and what comes after it.
func (s *store) beginning(lw *cache.ListWatch) *cache.ListWatch {
	list, watches := lw.ListWithContextFunc, lw.WatchFuncWithContext
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			s.streamed = nil
			return list(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := watches(ctx, o)
			if err != nil || o.SendInitialEvents == nil || !*o.SendInitialEvents {
				return w, err
			}
			s.streamed = index.NewList()
			f := &firstList{store: s, list: s.streamed, from: w, result: make(chan watch.Event),
				stop: make(chan struct{}), done: make(chan struct{})}
			go f.run()
			return f, nil
		},
	}
}

// firstList is a watch that begins with a list, which it takes up itself.
type firstList struct {
	store *store
	list  *index.List
	from  watch.Interface

	result chan watch.Event
	// stop is closed when nothing more is wanted, done when nothing more is judged.
	stop, done chan struct{}
	once       sync.Once
	// read counts the objects of the list, and ended says that it is over.
	read  int
	ended bool
}

var _ watch.Interface = (*firstList)(nil)

// ResultChan gives what isn't of the list.
func (f *firstList) ResultChan() <-chan watch.Event { return f.result }

// Stop returns when nothing is judged any more: the next watch has the same judge.
func (f *firstList) Stop() {
	f.once.Do(func() {
		close(f.stop)
		f.from.Stop()
	})
	<-f.done
}

func (f *firstList) run() {
	defer close(f.done)
	defer close(f.result)
	for {
		var e watch.Event
		open := false
		select {
		case <-f.stop:
			return
		case e, open = <-f.from.ResultChan():
		}
		if !open {
			return
		}
		if !f.ended {
			e, open = f.take(e)
		}
		if !open {
			continue
		}
		select {
		case <-f.stop:
			return
		case f.result <- e:
		}
	}
}

// take takes up an event of the list. It gives what the reflector is to be told, if anything.
func (f *firstList) take(e watch.Event) (told watch.Event, tell bool) {
	o, err := meta.Accessor(e.Object)
	if err != nil {
		return e, true
	}
	switch e.Type {
	case watch.Added, watch.Modified:
		j, err := f.store.toJudged(e.Object)
		if err != nil {
			return e, true
		}
		f.list.Put(j)
		f.read++
		return progress(o.GetResourceVersion()), f.read%progressEvery == 1
	case watch.Deleted:
		f.list.Remove(index.KeyOf(o.GetNamespace(), o.GetName()))
		return e, false
	case watch.Bookmark:
		f.ended = o.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
	case watch.Error:
	}
	return e, true
}

// progress says how far a list has come, and nothing else.
func progress(resourceVersion string) watch.Event {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetResourceVersion(resourceVersion)
	return watch.Event{Type: watch.Bookmark, Object: o}
}
