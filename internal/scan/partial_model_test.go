// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/scan/index"
)

// lagging is an API server with some objects, a watch of them that lags behind, and a partial pass beside it, which stops
// between any two steps. Every object violates, and says in which version, and by which state of what rules look up.
type lagging struct {
	t *rapid.T
	*scanned
	store *store
	judge *judge
	// latest is the newest version of anything, and shown the one up to which the watch has come.
	latest, shown int
	objects       map[string]int
	// events are those that the watch hasn't brought yet.
	events []change
	// looked is what rules look up now.
	looked int
	// list is what the partial pass has left to judge, or nil; judged is an object of it that isn't recorded yet.
	list   []change
	judged *index.Judged
	at     change
	began  bool
	// before are the versions that were recorded last.
	before map[string]int
}

// change is a version of an object; gone is that it was deleted.
type change struct {
	name    string
	version int
	gone    bool
}

func (e change) object() *unstructured.Unstructured {
	return versioned(e.name, strconv.Itoa(e.version), nil)
}

func newLagging(t *rapid.T) *lagging {
	w := &lagging{t: t, scanned: newScanned(inForce("p", "r1")), objects: map[string]int{},
		before: map[string]int{}, latest: 1, shown: 1}
	verdict := func(r *policy.Request) []policy.Decision {
		return []policy.Decision{{Policy: "p", Revision: "r1",
			Violations: []policy.Violation{{Message: fmt.Sprintf("looked up %d", w.looked)}}}}
	}
	w.store = &store{ctx: context.Background(), index: w.Index, kind: configMaps, read: &atomic.Int64{},
		judge: newJudge(w.tallies, verdict)}
	w.judge = newJudge(w.tallies, verdict)
	w.pass()
	return w
}

// write creates or changes an object, or deletes it.
func (w *lagging) write(name string, gone bool) {
	if _, there := w.objects[name]; gone && !there {
		return
	}
	w.latest++
	w.objects[name] = w.latest
	if gone {
		delete(w.objects, name)
	}
	w.events = append(w.events, change{name, w.latest, gone})
}

// watch brings one event.
func (w *lagging) watch() {
	if len(w.events) == 0 {
		return
	}
	e := w.events[0]
	w.events = w.events[1:]
	var err error
	if e.gone {
		err = w.store.Delete(e.object())
		delete(w.before, e.name)
	} else {
		err = w.store.Add(e.object())
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.shown = e.version
}

// partial goes one step on.
func (w *lagging) partial() {
	switch {
	case !w.began:
		w.store.begin()
		w.began = true
		for name, version := range w.objects {
			w.list = append(w.list, change{name: name, version: version})
		}
	case w.judged != nil:
		err := w.store.renew(w.judged, strconv.Itoa(w.at.version), func() string { return strconv.Itoa(w.shown) })
		if err != nil {
			w.t.Fatal(err)
		}
		w.judged = nil
	case len(w.list) > 0:
		w.at, w.list = w.list[0], w.list[1:]
		w.judged = w.judge.judge(context.Background(), w.at.object())
	default:
		w.store.end()
		w.began = false
	}
}

// holds compares what is recorded with what was before: nothing goes back, and nothing comes back.
func (w *lagging) holds() {
	findings, _, _ := w.Findings("p")
	for _, f := range findings {
		version, _ := strconv.Atoi(f.ResourceVersion)
		if version < w.before[f.Name] {
			w.t.Fatalf("%s was recorded at version %d, and is at %d now", f.Name, w.before[f.Name], version)
		}
		if version > w.shown {
			w.t.Fatalf("%s is recorded at version %d, and the watch has come to %d", f.Name, version, w.shown)
		}
		w.before[f.Name] = version
	}
}

// TestAPartialPassBesideAWatchThatLagsBehind has both go on in any order. In the end each object is recorded as it is,
// by what could be looked up when the pass began, or by something newer, and no other object is.
func TestAPartialPassBesideAWatchThatLagsBehind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newLagging(t)
		names := []string{"a", "b", "c"}
		steps := rapid.SampledFrom([]string{"write", "delete", "watch", "watch", "look up", "partial", "partial"})
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			switch steps.Draw(t, "step") {
			case "write":
				w.write(rapid.SampledFrom(names).Draw(t, "name"), false)
			case "delete":
				w.write(rapid.SampledFrom(names).Draw(t, "name"), true)
			case "watch":
				w.watch()
			case "look up":
				w.looked++
			case "partial":
				w.partial()
			}
			w.holds()
		}
		for w.began {
			w.partial()
		}
		w.looked++ // a change, and a partial pass for its sake
		w.partial()
		for w.began || len(w.events) > 0 {
			if rapid.Bool().Draw(t, "the watch goes on") {
				w.watch()
			} else if w.began {
				w.partial()
			}
			w.holds()
		}
		findings, _, _ := w.Findings("p")
		for _, f := range findings {
			want := strconv.Itoa(w.objects[f.Name])
			if f.ResourceVersion != want || f.Message != fmt.Sprintf("looked up %d", w.looked) {
				t.Errorf("%s is at version %s, and recorded at %s: %s, want looked up %d", f.Name, want,
					f.ResourceVersion, f.Message, w.looked)
			}
			delete(w.objects, f.Name)
		}
		if len(w.objects) > 0 {
			t.Errorf("not recorded: %v", w.objects)
		}
	})
}
