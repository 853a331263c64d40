// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
)

func decoded(t interface{ Fatal(...any) }, raw string) map[string]any {
	out := map[string]any{}
	if err := utiljson.Unmarshal([]byte(raw), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAFingerprintTellsWhereAnObjectDiffers(t *testing.T) {
	const base = `{"metadata": {"name": "web", "labels": {"a": "1"}, "resourceVersion": "5"}, "data": {"x": "1", "none": {}}, "list": [{"name": "c", "image": "i"}]}`
	cases := map[string]struct {
		now  string
		want []Difference
	}{
		"what the server keeps doesn't count": {
			`{"metadata": {"name": "web", "labels": {"a": "1"}, "resourceVersion": "9", "generation": 3}, "data": {"x": "1", "none": {}}, "list": [{"name": "c", "image": "i"}], "status": {"n": 1}}`, nil},
		"a key is added": {
			`{"metadata": {"name": "web", "labels": {"a": "1"}}, "data": {"x": "1", "none": {}, "y": "2"}, "list": [{"name": "c", "image": "i"}]}`, []Difference{{Path: "/data/y", Added: true}}},
		"a key is added to an empty map": {
			`{"metadata": {"name": "web", "labels": {"a": "1"}}, "data": {"x": "1", "none": {"y": "2"}}, "list": [{"name": "c", "image": "i"}]}`, []Difference{{Path: "/data/none/y", Added: true}}},
		"a map is added": {
			`{"metadata": {"name": "web", "labels": {"a": "1"}, "annotations": {"k": "v"}}, "data": {"x": "1", "none": {}}, "list": [{"name": "c", "image": "i"}]}`, []Difference{{Path: "/metadata/annotations", Added: true}}},
		"an element is appended": {
			`{"metadata": {"name": "web", "labels": {"a": "1"}}, "data": {"x": "1", "none": {}}, "list": [{"name": "c", "image": "i"}, {"name": "sidecar"}]}`, []Difference{{Path: "/list/1", Added: true}}},
		"a value is changed": {
			`{"metadata": {"name": "web", "labels": {"a": "1"}}, "data": {"x": "1", "none": {}}, "list": [{"name": "c", "image": "other"}]}`, []Difference{{Path: "/list/0/image"}}},
		"a key is taken away": {
			`{"metadata": {"name": "web", "labels": {"a": "1"}}, "data": {"none": {}}, "list": [{"name": "c", "image": "i"}]}`, []Difference{{Path: "/data", Removed: true}}},
		"one is taken away, another added": {
			`{"metadata": {"name": "web", "labels": {"b": "1"}}, "data": {"x": "1", "none": {}}, "list": [{"name": "c", "image": "i"}]}`, []Difference{{Path: "/metadata/labels"}}},
		"an addition hides no removal beside": {
			`{"metadata": {"name": "web", "labels": {"a": "1"}}, "data": {"none": {}, "y": "2"}, "list": [{"name": "c", "image": "i"}]}`, []Difference{{Path: "/data/y", Added: true}, {Path: "/data", Removed: true}}},
		"a value becomes a map, or a map a value": {
			`{"metadata": {"name": "web", "labels": "a"}, "data": {"x": {"y": "1"}, "none": {}}, "list": [{"name": "c", "image": "i"}]}`, []Difference{{Path: "/data/x"}, {Path: "/metadata/labels"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f, err := FingerprintOf(decoded(t, base), "")
			if err != nil {
				t.Fatal(err)
			}
			got, err := f.Differences(decoded(t, tc.now), "")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAFingerprintIsBoundedAndStillTells(t *testing.T) {
	large := map[string]any{}
	for i := range 2000 {
		large[fmt.Sprint("key", i)] = "v"
	}
	obj := map[string]any{"data": large, "other": map[string]any{"a": "1"}}
	f, err := FingerprintOf(obj, "")
	if err != nil {
		t.Fatal(err)
	}
	if most := maxPlaces * 2 * hashBytes; len(f.Places) > most {
		t.Errorf("%d bytes, at most %d", len(f.Places), most)
	}
	large["more"], obj["other"].(map[string]any)["b"] = "v", "2"
	got, err := f.Differences(obj, "")
	if diff := cmp.Diff([]Difference{{Path: "/other/b", Added: true}, {Path: "/data"}}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if got, _ := (Fingerprint{Digest: f.Digest}).Differences(obj, ""); len(got) != 1 || got[0].Added {
		t.Errorf("without places: %v", got)
	}
}

func TestAStatusHasItsOwnFingerprint(t *testing.T) {
	obj := func(label, phase string) map[string]any {
		return map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": label}},
			"status": map[string]any{"phase": phase}}
	}
	f, err := FingerprintOf(obj("1", "Ready"), "status")
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := f.Differences(obj("2", "Ready"), "status"); got != nil {
		t.Errorf("a label counts: %v", got)
	}
	if got, _ := f.Differences(obj("1", "Lost"), "status"); !cmp.Equal(got, []Difference{{Path: "/status/phase"}}) {
		t.Errorf("a changed status: %v", got)
	}
}

// Whatever differs is told, and what is said to be added can be taken away.
func TestNoDifferenceEscapesAFingerprint(t *testing.T) {
	values := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}),
		rapid.MapOfN(rapid.SampledFrom([]string{"x", "y", "z"}), rapid.SampledFrom([]string{"1", "2"}), 0, 3), 0, 3)
	nested := func(t *rapid.T, name string) map[string]any {
		out := map[string]any{}
		for k, inner := range values.Draw(t, name) {
			m := map[string]any{}
			for key, v := range inner {
				m[key] = v
			}
			out[k] = m
		}
		return out
	}
	rapid.Check(t, func(t *rapid.T) {
		before, after := nested(t, "before"), nested(t, "after")
		f, err := FingerprintOf(before, "")
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Differences(after, "")
		if err != nil {
			t.Fatal(err)
		}
		changed := Diff(before, after)
		if (len(got) == 0) != (len(changed) == 0) {
			t.Fatalf("%v, and really %v", got, changed)
		}
		for _, d := range got {
			if _, had := Lookup(before, d.Path); d.Added == had {
				t.Fatalf("%v, and it was there: %t", d, had)
			}
		}
	})
}
