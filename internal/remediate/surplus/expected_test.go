// SPDX-License-Identifier: Apache-2.0

package surplus

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixtest"
)

func TestWhatCameWithAWriteIsToldApart(t *testing.T) {
	type m = map[string]any
	early := fixtest.Owner("kubectl", "", `{"f:data": {"f:a": {}, "f:b": {}}}`, 1)
	ours := func(at int) metav1.ManagedFieldsEntry {
		return fixtest.Owner(v1alpha1.FieldManager, "", `{"f:data": {"f:state": {}}}`, at)
	}
	expected := m{"state": "good", "a": "1", "b": "1"}
	type told struct{ Path, Kept, Added string }
	cases := map[string]struct {
		live    m
		entries []metav1.ManagedFieldsEntry
		want    told
	}{
		"nothing came with it": {expected, []metav1.ManagedFieldsEntry{early, ours(9)}, told{}},
		"a field was added, and nobody has written since: it can be set back": {
			m{"state": "good", "a": "1", "b": "1", "x": "1"},
			[]metav1.ManagedFieldsEntry{early, ours(9)}, told{Path: "/data/x", Added: "/data/x"}},
		"a field of somebody else's was changed at the write": {m{"state": "good", "a": "2", "b": "1"},
			[]metav1.ManagedFieldsEntry{early, ours(9)}, told{Path: "/data/a", Kept: "/data/a"}},
		"a field was taken away: nobody can tell by whom": {m{"state": "good", "b": "1"},
			[]metav1.ManagedFieldsEntry{early, ours(9)}, told{Path: "/data", Kept: "/data"}},
		"a person has added a field since": {m{"state": "good", "a": "1", "b": "1", "x": "1"},
			[]metav1.ManagedFieldsEntry{early, ours(9), fixtest.Owner("ann", "", `{"f:data": {"f:x": {}}}`, 10)}, told{}},
		"a person has changed their field since": {m{"state": "good", "a": "2", "b": "1"},
			[]metav1.ManagedFieldsEntry{fixtest.Owner("kubectl", "", `{"f:data": {"f:a": {}, "f:b": {}}}`, 10), ours(9)},
			told{}},
		"a field was added, and a person has added another since: it is told, and left": {
			m{"state": "good", "a": "1", "b": "1", "x": "1", "y": "1"},
			[]metav1.ManagedFieldsEntry{early, ours(9), fixtest.Owner("ann", "", `{"f:data": {"f:x": {}}}`, 10)},
			told{Path: "/data/y", Kept: "/data/y"}},
		"a person has written within the very second of their last write: what was added is left": {
			m{"state": "good", "a": "1", "b": "1", "x": "1"},
			[]metav1.ManagedFieldsEntry{fixtest.Owner("kubectl", "", `{"f:data": {"f:a": {}, "f:b": {}, "f:x": {}}}`, 1),
				ours(9)}, told{Path: "/data/x", Kept: "/data/x"}},
		"a controller has written the status since: what was added can be set back": {
			m{"state": "good", "a": "1", "b": "1", "x": "1"},
			[]metav1.ManagedFieldsEntry{
				early, ours(9), fixtest.Owner("manager", "status", `{"f:status": {"f:phase": {}}}`, 10)}, told{Path: "/data/x",
				Added: "/data/x"}},
		"managedFields were cleared: what was added is left": {m{"state": "good", "a": "1", "b": "1", "x": "1"}, nil,
			told{Path: "/data/x", Kept: "/data/x"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			proof, err := Expect(fixtest.Holding(expected, "ConfigMap", early, ours(2)), "", v1alpha1.FieldManager)
			if err != nil {
				t.Fatal(err)
			}
			b, err := Beyond(proof, fixtest.Holding(tc.live, "ConfigMap", tc.entries...), "", v1alpha1.FieldManager)
			if err != nil {
				t.Fatal(err)
			}
			got := told{Path: b.Path, Kept: b.Kept}
			for _, f := range b.Added {
				got.Added += f.Path
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAnEditWithinASecondIsToldAndLeft has one field manager write before our write and after
// it, all within one second: its entry of managedFields may read the same then.
func TestAnEditWithinASecondIsToldAndLeft(t *testing.T) {
	type m = map[string]any
	const whole, each = `{"f:data": {}}`, `{"f:data": {".": {}, "f:a": {}}}`
	const more, moreWhole = `{"f:data": {".": {}, "f:a": {}, "f:x": {}}}`, `{"f:data": {}, "f:immutable": {}}`
	cases := map[string]struct {
		reason        string
		before, after string // what kubectl holds
		wrote, ours   int    // the seconds of kubectl's write and of ours
		set           string // what we hold; a label unless said
		live          m
		undone        bool
	}{
		"a key was added, and kubectl holds it": {
			reason: "its entry has the time of before, but names more", before: each, after: more, wrote: 2, ours: 2,
			live: m{"a": "1", "x": "1"},
		},
		"kubectl's own key was changed": {
			reason: "its entry is the same, and what the key held is known to nobody", before: each, after: each,
			wrote: 2, ours: 2, live: m{"a": "2"},
		},
		"a key was added to a map that kubectl holds as a whole": {
			reason: "its entry is the same, though it may have written the key", before: whole, after: whole, wrote: 2,
			ours: 2, live: m{"a": "1", "x": "1"},
		},
		"a key was added to such a map, and kubectl holds another field besides": {
			reason: "somebody has written since", before: whole, after: moreWhole, wrote: 2, ours: 2,
			live: m{"a": "1", "x": "1"},
		},
		"a key was added to such a map, which kubectl wrote a second before us": {
			reason: "a write after ours would have another time", before: whole, after: whole, wrote: 1, ours: 2,
			live: m{"a": "1", "x": "1"}, undone: true,
		},
		"a key was added to such a map, and nothing says any more when we have written": {
			reason: "somebody has taken over what we set", before: whole, after: whole, wrote: 1, ours: -1,
			live: m{"a": "1", "x": "1"},
		},
		"a key was added by our write to a map of which kubectl holds nothing any more": {
			reason: "our entry names a key of the map: its keys are set one by one", before: whole, after: whole,
			wrote: 2, ours: 2,
			set: `{"f:data": {"f:a": {}}}`, live: m{"a": "1", "x": "1"}, undone: true,
		},
		"the same, and kubectl has set a label since": {
			reason: "somebody has written since, though not the key", before: whole,
			after: `{"f:data": {}, "f:metadata": {"f:labels": {"f:k": {}}}}`, wrote: 2, ours: 2,
			set: `{"f:data": {"f:a": {}}}`, live: m{"a": "1", "x": "1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.set == "" {
				tc.set = `{"f:metadata": {"f:labels": {"f:l": {}}}}`
			}
			ours := fixtest.Owner(v1alpha1.FieldManager, "", tc.set, tc.ours)
			proof, err := Expect(
				fixtest.Holding(m{"a": "1"}, "ConfigMap", fixtest.Owner("kubectl", "", tc.before, tc.wrote), ours), "",
				v1alpha1.FieldManager)
			if err != nil {
				t.Fatal(err)
			}
			live := fixtest.Holding(tc.live, "ConfigMap", fixtest.Owner("kubectl", "", tc.after, tc.wrote))
			if tc.ours >= 0 {
				live.SetManagedFields(append(live.GetManagedFields(), ours))
			}
			b, err := Beyond(proof, live, "", v1alpha1.FieldManager)
			if err != nil || b.Path == "" {
				t.Fatalf("it isn't told: %+v, %v", b, err)
			}
			if undone := len(b.Added) > 0; undone != tc.undone || undone != (b.Kept == "") {
				t.Errorf("%+v: %s", b, tc.reason)
			}
		})
	}
}

// TestARevisionIsTheControllers has a controller keep an annotation by writing the status, as
// that of Deployments does, once before our write and once after it.
func TestARevisionIsTheControllers(t *testing.T) {
	type m = map[string]any
	const revision, other = `{"f:data": {".": {}, "f:revision": {}}}`, `{"f:status": {"f:replicas": {}}}`
	cases := map[string]struct {
		subresource, fields string
		wrote, again, ours  int // the seconds of the controller's writes and of ours
		told                bool
	}{
		"all within one second":                           {"status", revision, 2, 2, 2, false},
		"the controller's second write is a second later": {"status", revision, 2, 3, 2, false},
		"the controller has written a second before us":   {"status", revision, 1, 1, 2, true},
		"it keeps other places with the status":           {"status", other, 2, 2, 2, true},
		"it doesn't write the status":                     {"", revision, 2, 2, 2, true},
		"nothing says any more when we have written":      {"status", revision, 2, 2, -1, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			held := func(revision string, at int) *unstructured.Unstructured {
				entries := []metav1.ManagedFieldsEntry{fixtest.Owner("controller", tc.subresource, tc.fields, at)}
				if tc.ours >= 0 {
					entries = append(entries, fixtest.Owner(v1alpha1.FieldManager, "", `{"f:spec": {"f:fix": {}}}`, tc.ours))
				}
				return fixtest.Holding(m{"revision": revision}, "Deployment", entries...)
			}
			proof, err := Expect(held("1", tc.wrote), "", v1alpha1.FieldManager)
			if err != nil {
				t.Fatal(err)
			}
			b, err := Beyond(proof, held("2", tc.again), "", v1alpha1.FieldManager)
			if err != nil || (b.Path != "") != tc.told {
				t.Errorf("%+v, %v", b, err)
			}
		})
	}
}

func TestAProofIsSmall(t *testing.T) {
	data := map[string]any{}
	for i := range 100 {
		data["key"+strings.Repeat("x", i)] = strings.Repeat("v", 1000)
	}
	proof, err := Expect(fixtest.Holding(data, "ConfigMap"), "", v1alpha1.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := json.Marshal(proof); err != nil || len(raw) > 2048 {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
}
