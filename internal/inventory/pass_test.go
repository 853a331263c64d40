// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
	"evenkeel.dev/evenkeel/internal/scan/listing"
)

// served is a cluster of one kind: what a list says, and what the watches are told, is the test's to say.
type served struct {
	dynamic.NamespaceableResourceInterface
	names   []string
	version string
	// held keeps lists waiting, which say what was so when they began; failing is what their second page ends with.
	held    chan struct{}
	failing error
	// slow are pages of an object each that come before all else, one after the other in less time than one may take.
	slow    int
	lists   int
	watches []*watch.FakeWatcher
	// odd is the name of an object that can't be kept.
	odd string
	// api is the version that is served, and discovered what was when discovery was read last; v1 for none.
	api, discovered string
	// silence is how long a watch may bring nothing; an hour for none.
	silence time.Duration
}

// in is the kind in one version.
type in struct {
	*served
	api string
}

func (s *served) Resource(r schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return in{s, r.Version}
}

func (s *served) Resolve(gk schema.GroupKind, _ ...string) (*meta.RESTMapping, error) {
	version := cmp.Or(s.discovered, "v1")
	return &meta.RESTMapping{Resource: schema.GroupVersionResource{Version: version, Resource: "nodes"},
		GroupVersionKind: gk.WithVersion(version)}, nil
}

func (s *served) Refresh() { s.discovered = s.api }

// IsWatchListSemanticsUnSupported says that lists aren't streamed.
func (*served) IsWatchListSemanticsUnSupported() bool { return true }

func (s in) List(ctx context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if s.api != cmp.Or(s.served.api, "v1") {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, "")
	}
	if s.slow > 0 {
		s.slow--
		page := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{*node("a", s.version)}}
		page.SetContinue("more")
		select {
		case <-time.After(stalledLook - time.Second): // of the bubble's time
		case <-ctx.Done():
		}
		return page, ctx.Err()
	}
	if o.Continue != "" && s.failing != nil {
		return nil, s.failing
	}
	s.lists++
	list := &unstructured.UnstructuredList{}
	list.SetResourceVersion(s.version)
	for _, name := range s.names {
		list.Items = append(list.Items, *node(name, s.version))
		if name == s.odd {
			list.Items[len(list.Items)-1].Object["spec"] = make(chan int)
		}
	}
	if s.held != nil {
		select {
		case <-s.held:
		case <-ctx.Done():
		}
	}
	if s.failing != nil {
		list.SetContinue("more")
	}
	return list, ctx.Err()
}

func (s *served) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	w := watch.NewFakeWithChanSize(10, false)
	s.watches = append(s.watches, w)
	return w, nil
}

// add tells one of the watches of a new object.
func (s *served) add(watch int, name, version string) { s.watches[watch].Add(node(name, version)) }

func node(name, version string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Node",
		"metadata": map[string]any{"name": name, "resourceVersion": version}}}
}

// following is a kind that is followed in a bubble of time.
type following struct {
	*served
	t     *testing.T
	store *Store
	kind  *follower
}

const testResync = 10 * time.Minute

// follow has the kind be followed until the test ends.
func follow(t *testing.T, s *served) *following {
	t.Helper()
	store := New(Options{Client: s, Resolver: s, ResyncPeriod: testResync, MaxStaleness: time.Minute,
		MaxSilence: cmp.Or(s.silence, time.Hour)})
	f := newFollower(store, inventory.Reference{Kind: "Node", Selector: labels.Everything()})
	store.followers[f.key] = f
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return &following{served: s, t: t, store: store, kind: f}
}

// known holds what rules see to some names; none means that the kind is unknown.
func (f *following) known(when string, names ...string) {
	f.t.Helper()
	synctest.Wait()
	all, err := f.store.Tables([]inventory.Reference{f.kind.reference})
	if err != nil {
		if len(names) > 0 {
			f.t.Errorf("%s: %v, want %q", when, err, names)
		}
		return
	}
	var got []string
	text := all.View().Data.String()
	for _, name := range []string{"a", "b", "c", "d"} {
		if strings.Contains(text, `"name": "`+name+`"`) {
			got = append(got, name)
		}
	}
	if !slices.Equal(got, names) {
		f.t.Errorf("%s: rules see %q, want %q", when, got, names)
	}
}

// takes holds what counts as taken of the memory to what is kept.
func (f *following) takes(when string) {
	f.t.Helper()
	if taken, kept := f.store.memory.used, f.kind.held.Bytes(); taken != kept {
		f.t.Errorf("%s: %d bytes count as taken, %d are kept", when, taken, kept)
	}
}

func (f *following) after(d time.Duration) {
	<-f.store.options.Clock.After(d) // of the bubble's time
	synctest.Wait()
}

// TestAKindIsKnownWhileItIsListedAnew has the list take longer than what is seen of a broken watch counts as true.
func TestAKindIsKnownWhileItIsListedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, &served{names: []string{"a"}, version: "10"})
		f.known("listed", "a")
		f.store.Take()
		f.held, f.names, f.version = make(chan struct{}), []string{"a", "c"}, "11"
		f.after(listing.Spread(f.kind.store.options.ResyncPeriod, f.kind.key) + 3*stalledLook/2)
		if f.lists != 2 {
			t.Fatalf("%d lists, want one more", f.lists)
		}
		f.add(0, "b", "12")
		f.known("the watch goes on", "a", "b")
		close(f.held)
		f.held = nil
		f.after(time.Second)
		f.known("the new watch hasn't come as far", "a", "b")
		f.add(0, "d", "13")
		f.known("so the old one still counts", "a", "b", "d")
		f.add(1, "b", "12")
		f.after(time.Second)
		f.known("the new one shows less than the old one", "a", "b", "d")
		if f.watches[0].IsStopped() {
			t.Fatal("the old one has ended")
		}
		f.add(1, "d", "13")
		f.after(time.Second)
		f.known("the new one has come as far", "a", "b", "c", "d")
		if !f.watches[0].IsStopped() {
			t.Error("two watch for good")
		}
		f.watches[1].Delete(node("a", "14"))
		f.known("the new one goes on", "b", "c", "d")
		if len(f.store.Take()) == 0 {
			t.Error("what has changed isn't told")
		}
		f.takes("it was listed anew")
	})
}

// TestAWatchThatStandsAndBringsNothing has neither changes nor bookmarks come, as when something between the manager and
// the API server keeps the connection, or the API server's own cache lags behind.
func TestAWatchThatStandsAndBringsNothing(t *testing.T) {
	const silence = 3 * time.Minute
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, &served{names: []string{"a"}, version: "10", silence: silence})
		f.known("listed", "a")
		for range 4 {
			f.after(time.Minute)
			f.watches[0].Action(watch.Bookmark, node("", "10"))
		}
		f.known("bookmarks come", "a")
		if f.lists != 1 {
			t.Errorf("%d lists, though bookmarks have come", f.lists)
		}

		f.names, f.version = []string{"a", "b"}, "12"
		f.after(silence + 2*silence/silencePolls)
		f.known("nothing has come, and it is listed anew", "a", "b")
		if !f.watches[0].IsStopped() || f.lists != 2 {
			t.Errorf("the silent one has ended: %t, %d lists", f.watches[0].IsStopped(), f.lists)
		}

		f.kind.failed(errors.New("connection refused")) // once, and not since
		f.watches[1].Action(watch.Bookmark, node("", "12"))
		f.known("it has been broken for a moment", "a", "b")
		f.store.Take()
		f.held = make(chan struct{}) // nor does the list
		f.after(silence + time.Minute/2)
		f.known("for a while it counts", "a", "b")
		f.after(time.Minute)
		f.known("nothing has been heard for too long")
		_, err := f.store.Tables([]inventory.Reference{f.kind.reference})
		if err == nil || !strings.Contains(err.Error(), "longer than --reference-max-staleness: its watch stands, and "+
			"brings nothing") || len(f.store.Take()) == 0 {
			t.Errorf("who asks is told %v, or nobody is told", err)
		}
		f.add(1, "c", "13")
		f.known("it goes on", "a", "b", "c")
		if len(f.store.TakeKnown()) == 0 {
			t.Error("that it is known again isn't told, so errors stay")
		}
		close(f.held)
		f.held = nil
		f.after(silence)
		f.known("the list that hung ends", "a", "b", "c")
	})
}

// TestAWatchIsSilentHoweverOftenItIsOpened has it be cut every half a minute, and opened again at once: something between
// the manager and an API server whose cache lags behind does that.
func TestAWatchIsSilentHoweverOftenItIsOpened(t *testing.T) {
	const silence = 3 * time.Minute
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, &served{names: []string{"a"}, version: "10", silence: silence})
		f.known("listed", "a")
		f.names, f.version = []string{"a", "b"}, "12"
		cut := func(d time.Duration) {
			for range d / (30 * time.Second) {
				f.after(30 * time.Second)
				f.watches[len(f.watches)-1].Stop()
			}
		}
		cut(silence - 30*time.Second)
		f.known("for a while it counts", "a")
		if f.lists != 1 {
			t.Errorf("%d lists, though it hasn't been silent for so long", f.lists)
		}
		cut(2 * time.Minute)
		f.known("nothing has come, and it is listed anew", "a", "b")

		f.held = make(chan struct{})
		cut(silence + 2*time.Minute)
		f.known("nothing has been heard for too long")
		f.watches[len(f.watches)-1].Action(watch.Bookmark, node("", "12"))
		f.known("a bookmark comes", "a", "b")
		f.held = nil
	})
}

// TestAListThatHangsIsGivenUp has the API server accept lists and not answer them.
func TestAListThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		f := follow(t, &served{names: []string{"a"}, version: "10", held: held})
		f.after(stalledLook)
		f.known("it isn't listed yet")
		if f.lists != 1 {
			t.Errorf("%d lists, want one that may still come", f.lists)
		}
		f.after(4 * stalledLook)
		_, err := f.store.Tables([]inventory.Reference{f.kind.reference})
		if f.lists < 2 || err == nil || !strings.Contains(err.Error(), errStalled.Error()) {
			t.Errorf("%d lists, and who asks is told %v", f.lists, err)
		}
		f.held = nil
		f.after(2 * stalledLook)
		f.known("the next one is answered", "a")

		f.held, f.names, f.version = held, []string{"a", "b"}, "12"
		before := f.lists
		f.after(2 * testResync)
		f.known("the watch goes on", "a")
		if f.lists < before+1 {
			t.Errorf("%d lists, want more than %d", f.lists, before)
		}
		f.held = nil
		f.after(2 * testResync)
		f.known("the next one is answered, beside the watch", "a", "b")
	})
}

// TestAListThatFailsLeavesTheWatchAlone has the kind be listed anew in vain.
func TestAListThatFailsLeavesTheWatchAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, &served{names: []string{"a"}, version: "10"})
		f.known("listed", "a")
		f.failing, f.names = errors.New("overloaded"), []string{"a", "c"}
		f.after(2 * testResync)
		f.add(0, "b", "12")
		f.known("the list has failed", "a", "b")
		f.takes("a list has failed")
		f.failing, f.names, f.version = nil, []string{"a", "b", "c"}, "13"
		f.after(2 * testResync)
		f.known("the next hasn't", "a", "b", "c")
	})
}

// TestAListMayTakeLongerThanUntilTheNext has the first list be slow, page by page.
func TestAListMayTakeLongerThanUntilTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, &served{names: []string{"b"}, version: "10", slow: 2 * int(testResync/stalledLook)})
		f.after(testResync + testResync/2)
		f.known("nothing is known")
		f.after(testResync)
		f.known("it ends", "a", "b")
		if f.lists != 1 {
			t.Errorf("%d lists, want one", f.lists)
		}
	})
}

// TestAWatchThatBreaksWhileTheKindIsListedAnew has what the new list brings take its place.
func TestAWatchThatBreaksWhileTheKindIsListedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, &served{names: []string{"a"}, version: "10"})
		f.known("listed", "a")
		f.held = make(chan struct{})
		f.names, f.version = []string{"b"}, "20"
		f.after(2 * testResync)
		f.watches[0].Error(&metav1.Status{Reason: metav1.StatusReasonExpired, Code: 410})
		f.known("for a moment it counts", "a")
		f.after(2 * time.Minute)
		f.known("nothing has been heard for too long")
		close(f.held)
		f.after(time.Second)
		f.known("the list has ended", "b")
	})
}

// TestAKindIsFoundInAnotherVersion has the version go in which a kind was known, and another one be preferred.
func TestAKindIsFoundInAnotherVersion(t *testing.T) {
	for name, gone := range map[string]bool{"its version isn't served any more": true,
		"another one is preferred": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := follow(t, &served{names: []string{"a"}, version: "10", api: "v1beta1", discovered: "v1beta1"})
				f.known("listed", "a")
				f.store.Take()
				f.api, f.names, f.version = "v1", []string{"b"}, "20"
				if gone {
					f.watches[0].Error(&metav1.Status{Reason: metav1.StatusReasonExpired, Code: 410})
					f.after(2 * lastRetry)
				} else {
					f.after(2 * testResync)
				}
				f.known("listed in the other one", "b")
				if got := f.kind.held.GroupVersion(); got != "v1" || len(f.store.Take()) == 0 {
					t.Errorf("it is kept in %s, or that isn't told", got)
				}
				f.takes("in the other one")
			})
		})
	}
}

// TestAnObjectThatCantBeKeptMakesItsKindUnknown has the watch, then the list bring one: rules must not take it for one
// that isn't there.
func TestAnObjectThatCantBeKeptMakesItsKindUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, &served{names: []string{"a"}, version: "10"})
		f.known("listed", "a")
		f.store.Take()
		odd := node("b", "11")
		odd.Object["spec"] = make(chan int)
		f.watches[0].Add(odd)
		f.known("the watch brings one")
		_, err := f.store.Tables([]inventory.Reference{f.kind.reference})
		if err == nil || !strings.Contains(err.Error(), "the object b can't be kept") || len(f.store.Take()) == 0 {
			t.Errorf("who asks is told %v, or nobody is told", err)
		}
		f.names, f.odd, f.version = []string{"a", "b"}, "b", "12"
		f.after(2 * firstRefit)
		f.known("the list brings it too")
		f.odd = ""
		f.after(2 * lastRefit)
		f.known("it was corrected", "a", "b")
		f.takes("it was corrected")
	})
}
