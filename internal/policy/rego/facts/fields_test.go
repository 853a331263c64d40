// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"strings"
	"testing"
)

func TestFieldsThatRulesMayRead(t *testing.T) {
	reads := func(paths ...string) Reads {
		var r Reads
		for _, p := range paths {
			if p == "" {
				r.paths = append(r.paths, path{})
				continue
			}
			r.paths = append(r.paths, strings.Split(p, "."))
		}
		return r
	}
	object := []string{"review", "object"}
	for name, tc := range map[string]struct {
		reads Reads
		// whole are fields of the object that are read with all that they hold; part are those of which something is
		// read, and none those of which nothing is.
		whole, part, none []string
	}{
		"one field": {reads("review.object.spec.replicas"),
			[]string{"spec.replicas", "spec.replicas.x"}, []string{"spec"}, []string{"metadata", "spec.paused"}},
		"all of the object": {reads("review.object"),
			[]string{"spec", "metadata.name"}, nil, nil},
		"what holds the object": {reads("review"),
			[]string{"spec"}, nil, nil},
		"all of the input": {reads(""),
			[]string{"spec"}, nil, nil},
		"a key that is computed": {reads("*.object.spec"),
			[]string{"spec"}, nil, []string{"metadata"}},
		"another document": {reads("review.userInfo", "parameters"),
			nil, nil, []string{"spec"}},
		"a field of any name": {reads("review.object.metadata.labels.*"),
			[]string{"metadata.labels.x"}, []string{"metadata", "metadata.labels"}, []string{"metadata.name"}},
		"one of elements": {reads("review.object.spec.containers.*.image"),
			[]string{"spec.containers.*.image"}, []string{"spec.containers.*"}, []string{"spec.containers.*.name"}},
		"any and one by name": {reads("review.object.a.*.x", "review.object.a.b.y"),
			[]string{"a.b.x", "a.b.y", "a.c.x"}, nil, []string{"a.c.y"}},
		"one by name and any": {reads("review.object.a.b.y", "review.object.a.*.x"),
			[]string{"a.b.x", "a.b.y", "a.c.x"}, nil, []string{"a.c.y"}},
		"a field and what it holds": {reads("review.object.spec.a", "review.object.spec"),
			[]string{"spec.a", "spec.b"}, nil, []string{"status"}},
		"what it holds and the field": {reads("review.object.spec", "review.object.spec.a"),
			[]string{"spec.a", "spec.b"}, nil, []string{"status"}},
		"any, and all of one": {reads("review.object.*.x", "review.object.b"),
			[]string{"a.x", "b.x", "b.y"}, nil, []string{"a.y"}},
		"nothing": {reads(), nil, nil, []string{"spec"}},
	} {
		t.Run(name, func(t *testing.T) {
			fields := tc.reads.Below(object)
			at := func(p string) *Fields {
				f := fields
				for _, key := range strings.Split(p, ".") {
					if key == anyKey {
						f = f.OfElement()
					} else {
						f = f.Of(key)
					}
				}
				return f
			}
			for _, p := range tc.whole {
				if !at(p).Whole() {
					t.Errorf("%s isn't read whole", p)
				}
			}
			for _, p := range tc.part {
				if f := at(p); f == nil || f.Whole() {
					t.Errorf("%s isn't read in part", p)
				}
			}
			for _, p := range tc.none {
				if at(p) != nil {
					t.Errorf("%s is read", p)
				}
			}
		})
	}
}

func TestFieldsOfSeveralPlacesAreJoined(t *testing.T) {
	r := Reads{paths: []path{{"review", "object", "spec"}, {"request", "oldObject", "metadata"},
		{"pod", "spec", "containers"}}}
	fields := Join(r.Below([]string{"review", "object"}, []string{"request", "oldObject"}),
		r.Below([]string{"pod"}).Under("spec", "template"), Field("kind"))
	for name, whole := range map[string]bool{"spec": true, "metadata": true, "kind": true, "status": false} {
		if fields.Of(name).Whole() != whole {
			t.Errorf("%s is read whole: %v", name, !whole)
		}
	}
	template := r.Below([]string{"pod"}).Under("spec", "template").Of("spec").Of("template")
	if !template.Of("spec").Of("containers").Whole() || template.Of("metadata") != nil {
		t.Error("what is read of the Pod isn't what is read of the template")
	}
	if all := Join(fields, All()); !all.Whole() || fields.Whole() {
		t.Error("what is joined is changed, or not joined")
	}
	if (*Fields)(nil).Under("spec") != nil {
		t.Error("none, below a field, is something")
	}
}
