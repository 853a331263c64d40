// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"evenkeel.dev/evenkeel/internal/policy"
)

// streamed is a store of an API server that streams lists, with what the test does as that server.
type streamed struct {
	*scanned
	// watches are those that the reflector opens, in turn.
	watches chan *watch.FakeWatcher
	// listed has a value whenever a full list is recorded.
	listed chan struct{}
	ended  chan error
}

func stream(t *testing.T) *streamed {
	f := &streamed{scanned: newScanned(inForce("p", "r1")), watches: make(chan *watch.FakeWatcher),
		listed: make(chan struct{}), ended: make(chan error, 1)}
	ctx, stop := context.WithCancel(t.Context())
	j := newJudge(f.tallies, func(r *policy.Request) []policy.Decision {
		d := policy.Decision{Policy: "p", Revision: "r1"}
		if policy.Metadata(r.Object)["labels"] == nil {
			d.Violations = []policy.Violation{{Message: "bad"}}
		}
		return []policy.Decision{d}
	})
	s := &store{ctx: ctx, index: f.Index, kind: configMaps, judge: j, listed: func() { f.listed <- struct{}{} },
		read: &atomic.Int64{}}
	lw := s.beginning(&cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			list := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{*versioned("listed", "9", nil)}}
			list.SetResourceVersion("9")
			return list, nil
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			w := watch.NewFake()
			f.watches <- w
			return w, nil
		},
	})
	r := cache.NewReflectorWithOptions(lw, nil, s, cache.ReflectorOptions{Name: "scan"})
	go func() { f.ended <- r.ListAndWatchWithContext(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-f.ended; err != nil {
			t.Error(err)
		}
	})
	return f
}

func versioned(name, version string, labels map[string]any) *unstructured.Unstructured {
	o := object("v1", "ConfigMap", name, labels)
	if labels == nil {
		unstructured.RemoveNestedField(o.Object, "metadata", "labels")
	}
	o.SetResourceVersion(version)
	return o
}

func endOfList(version string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	o.SetResourceVersion(version)
	o.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	return o
}

func (f *streamed) names() (names []string) {
	findings, _, _ := f.Findings("p")
	for i := range findings {
		names = append(names, findings[i].Name+" "+findings[i].ResourceVersion)
	}
	return names
}

func TestAStreamedListIsRecordedAsAWhole(t *testing.T) {
	f := stream(t)
	owned := map[string]any{"owner": "me"}
	w := <-f.watches
	w.Add(versioned("good", "1", owned))
	w.Add(versioned("bad", "2", nil))
	w.Add(versioned("gone", "3", nil))
	w.Add(versioned("healed", "4", nil))
	w.Modify(versioned("healed", "5", owned))
	w.Delete(versioned("gone", "6", nil))
	forged := versioned("forged", "7", nil)
	forged.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	w.Add(forged)
	if got := f.names(); got != nil {
		t.Errorf("before the list is whole, %v are found", got)
	}
	w.Action(watch.Bookmark, endOfList("7"))
	<-f.listed
	if diff := cmp.Diff([]string{"bad 2", "forged 7"}, f.names()); diff != "" {
		t.Errorf("the list (-want +got):\n%s", diff)
	}
	if s, _ := f.Summary("p", 0); s.Scanned != 4 {
		t.Errorf("%d are scanned, want 4", s.Scanned)
	}
	changes := f.Changes()
	f.Deliver(t.Context())
	w.Add(versioned("new", "8", nil))
	<-changes
	if diff := cmp.Diff([]string{"bad 2", "forged 7", "new 8"}, f.names()); diff != "" {
		t.Errorf("what comes after it (-want +got):\n%s", diff)
	}
}

func TestAStreamThatBreaksOffIsBegunAnew(t *testing.T) {
	for name, breakOff := range map[string]func(w *watch.FakeWatcher){
		"it ends": func(w *watch.FakeWatcher) { w.Stop() },
		"it says that it has expired": func(w *watch.FakeWatcher) {
			w.Error(&metav1.Status{Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonExpired})
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := stream(t)
			w := <-f.watches
			w.Add(versioned("old", "1", nil))
			breakOff(w)
			w = <-f.watches
			w.Add(versioned("new", "2", nil))
			w.Action(watch.Bookmark, endOfList("2"))
			<-f.listed
			if diff := cmp.Diff([]string{"new 2"}, f.names()); diff != "" {
				t.Errorf("the list (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAListInPagesFollowsAStreamThatFails(t *testing.T) {
	f := stream(t)
	w := <-f.watches
	w.Add(versioned("streamed", "1", nil))
	w.Error(&metav1.Status{Status: metav1.StatusFailure, Code: 400, Reason: metav1.StatusReasonBadRequest})
	<-f.listed
	if diff := cmp.Diff([]string{"listed 9"}, f.names()); diff != "" {
		t.Errorf("the list (-want +got):\n%s", diff)
	}
	<-f.watches
}

func TestAStreamShowsThatItGoesOn(t *testing.T) {
	s := &store{ctx: t.Context(), kind: configMaps, read: &atomic.Int64{}, judge: newJudge(nil,
		func(*policy.Request) []policy.Decision { return nil })}
	from := watch.NewFake()
	w, err := s.beginning(&cache.ListWatch{
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return from, nil },
	}).WatchWithContext(t.Context(), metav1.ListOptions{SendInitialEvents: new(true)})
	if err != nil {
		t.Fatal(err)
	}
	for n := range progressEvery + 1 {
		from.Add(versioned(fmt.Sprint(n), fmt.Sprint(n), nil))
		if n%progressEvery != 0 {
			continue
		}
		e := <-w.ResultChan()
		o, ok := e.Object.(*unstructured.Unstructured)
		if !ok || e.Type != watch.Bookmark || o.GetResourceVersion() != fmt.Sprint(n) || o.GetAnnotations() != nil {
			t.Errorf("after %d objects it says %s of %v", n+1, e.Type, e.Object)
		}
	}
	w.Stop()
	w.Stop()
	if !from.IsStopped() {
		t.Error("the watch below goes on")
	}
	if _, open := <-w.ResultChan(); open {
		t.Error("it isn't over")
	}
}

func TestAWatchThatCantBeOpenedIsAnError(t *testing.T) {
	refused := errors.New("refused")
	s := &store{}
	_, err := s.beginning(&cache.ListWatch{
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return nil, refused
		},
	}).WatchWithContext(t.Context(), metav1.ListOptions{SendInitialEvents: new(true)})
	if !errors.Is(err, refused) {
		t.Errorf("it says %v", err)
	}
}
