// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
)

func TestPackageOf(t *testing.T) {
	for symbol, want := range map[string]string{
		"example.com/a/b.(*T).Do":             "example.com/a/b",
		"example.com/a/b.Do.func1":            "example.com/a/b",
		"gopkg.in/yaml%2ev3.Unmarshal":        "gopkg.in/yaml.v3",
		"type:.eq.example.com/a/b.T":          "example.com/a/b",
		"go:itab.*example.com/a/b.T,io.Write": "example.com/a/b",
		"example.com/a/b.Map[go.shape.int]":   "example.com/a/b",
		"runtime.mallocgc":                    "runtime",
	} {
		if got := packageOf(symbol); got != want {
			t.Errorf("%s is of %q, want %q", symbol, got, want)
		}
	}
}

// TestWeightsTellWhatWouldGo: what two dependencies bring in together goes with neither.
func TestWeightsTellWhatWouldGo(t *testing.T) {
	type mod = struct {
		Path           string
		Main, Indirect bool
	}
	packages := map[string]imported{
		"me":     {ImportPath: "me", Imports: []string{"a", "b"}, Module: &mod{Path: "me", Main: true}},
		"a":      {ImportPath: "a", Imports: []string{"only-a", "shared"}, Module: &mod{Path: "a"}},
		"b":      {ImportPath: "b", Imports: []string{"shared"}, Module: &mod{Path: "b"}},
		"only-a": {ImportPath: "only-a", Module: &mod{Path: "only-a", Indirect: true}},
		"shared": {ImportPath: "shared", Module: &mod{Path: "shared", Indirect: true}},
	}
	got := weights(packages, map[string]uint64{"me": 1, "a": 10, "b": 20, "only-a": 100, "shared": 1000})
	want := []weight{{"a", 10, 110}, {"b", 20, 20}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
