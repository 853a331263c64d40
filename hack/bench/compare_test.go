// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAnEstateIsTheSameForTheSameSeed(t *testing.T) {
	written := func(seed uint64) string {
		files, _, err := writeEstate(t.TempDir(), 100, seed)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := os.ReadFile(filepath.Join(files.objects, "all.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		reviews, err := os.ReadFile(files.reviews)
		if err != nil {
			t.Fatal(err)
		}
		return string(objects) + string(reviews)
	}
	first := written(1)
	if first != written(1) {
		t.Error("two runs write different objects")
	}
	if first == written(2) {
		t.Error("two seeds write the same objects")
	}
}

func TestWhatOneFindsAndTheOtherDoesntIsSaid(t *testing.T) {
	a, b := finding{"Pod shop/a", "no owner"}, finding{"Pod shop/b", "no owner"}
	for name, tc := range map[string]struct {
		theirs, ours []finding
		says         string // empty: no error
	}{
		"the same":              {[]finding{a, b}, []finding{b, a}, ""},
		"one missed":            {[]finding{a, b}, []finding{a}, "Pod shop/b: Gatekeeper alone: no owner"},
		"one too many":          {[]finding{a}, []finding{a, b}, "Pod shop/b: evenkeel alone: no owner"},
		"one told twice":        {[]finding{a}, []finding{a, a}, "Pod shop/a: evenkeel alone: no owner"},
		"another message":       {[]finding{a}, []finding{{a.object, "no team"}}, "2 differences"},
		"nothing found by both": {nil, nil, "that proves nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			err := same(tc.theirs, tc.ours)
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("it says %v, want %q", err, tc.says)
			}
		})
	}
}

func TestFindingsAreReadFromWhatBothPrint(t *testing.T) {
	want := []finding{{"Pod shop/a", "no owner"}}
	ours, err := ownFindings([]byte(`{"results":[{"object":{"kind":"Pod","namespace":"shop","name":"a"},` +
		`"violations":[{"message":"no owner"}]}]}`))
	if !slices.Equal(want, ours) || err != nil {
		t.Errorf("evenkeel's: %v, %v", ours, err)
	}
	theirs, err := gatorFindings([]byte(`[{"msg":"no owner","violatingObject":{"kind":"Pod",` +
		`"metadata":{"namespace":"shop","name":"a"}}}]`))
	if !slices.Equal(want, theirs) || err != nil {
		t.Errorf("gator's: %v, %v", theirs, err)
	}
}
