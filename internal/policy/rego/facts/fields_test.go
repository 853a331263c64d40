// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"slices"
	"strconv"
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
		"any of any, and one of one": {reads("review.object.*.*.x", "review.object.b.c.y"),
			[]string{"a.c.x", "b.c.x", "b.d.x", "b.c.y"}, nil, []string{"a.c.y", "b.d.y"}},
		"one of one, and any of any": {reads("review.object.b.c.y", "review.object.*.*.x"),
			[]string{"a.c.x", "b.c.x", "b.d.x", "b.c.y"}, nil, []string{"a.c.y", "b.d.y"}},
		"all of one, and any of it": {reads("review.object.b", "review.object.*.*.x"),
			[]string{"b.c.y", "a.c.x"}, nil, []string{"a.c.y"}},
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

// TestOnlyThatAnObjectIsThere: nothing below it is read.
func TestOnlyThatAnObjectIsThere(t *testing.T) {
	r := Reads{paths: []path{{"object", present}}}
	if f := r.Below([]string{"object"}); f == nil || f.Whole() || f.Of("spec") != nil || f.OfElement() != nil {
		t.Errorf("%+v is read", f)
	}
	if r.Below([]string{"review"}) != nil {
		t.Error("another document is read")
	}
}

// TestTreesAreBounded by their places and by the steps to make them, each by itself.
func TestTreesAreBounded(t *testing.T) {
	fields := func(from, to int) []path {
		var paths []path
		for i := from; i < to; i++ {
			paths = append(paths, path{strconv.Itoa(i)})
		}
		return paths
	}
	if f := fieldsOf(fields(0, maxPlaces-1)); f.Whole() || len(f.named) != maxPlaces-1 {
		t.Error("a tree of as many places as there may be is taken to be read whole")
	}
	if !fieldsOf(fields(0, maxPlaces)).Whole() {
		t.Error("one of more isn't")
	}
	few := fieldsOf(fields(0, 5000))
	if Join(slices.Repeat([]*Fields{few}, 190)...).Whole() {
		t.Error("trees that are alike are taken to be read whole")
	}
	if !Join(slices.Repeat([]*Fields{few}, 210)...).Whole() {
		t.Errorf("more than %d steps are made", maxSteps)
	}
	ofAny := fieldsOf([]path{{anyKey, anyKey, "x"}})
	if joined := Join(few, ofAny); !joined.Of("7").Whole() || !joined.Of("new").Of("y").Of("x").Whole() {
		t.Errorf("of a field by name %v is read, of another %v", joined.Of("7"), joined.Of("new"))
	}
}
