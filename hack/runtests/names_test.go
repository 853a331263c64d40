// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestWhatRanIsListed: two runs can be compared by their lists, whatever each took and in whatever order it ran.
func TestWhatRanIsListed(t *testing.T) {
	ran := func(pkg, test, action string) []event {
		return []event{{Action: "run", Package: pkg, Test: test}, {Action: action, Package: pkg, Test: test}}
	}
	plan := []string{"a plan"}
	unit, suite := module+"internal/canary", module+"test/integration"
	for name, tc := range map[string]struct {
		reason string
		events []event
		specs  []specReport
		want   []string
	}{
		"tests": {
			reason: "a skipped one didn't run, and one with parts is its parts",
			events: slices.Concat(ran(unit, "TestB", "pass"), ran(unit, "TestC", "skip"),
				[]event{{Action: "run", Package: unit, Test: "TestA"}}, ran(unit, "TestA/one", "fail"),
				[]event{{Action: "fail", Package: unit, Test: "TestA"}, {Action: "fail", Package: unit}}),
			want: []string{"internal/canary TestA/one", "internal/canary TestB"},
		},
		"a suite beside a test": {
			reason: "its specs stand for it",
			events: slices.Concat(ran(suite, "TestHelper", "pass"),
				[]event{{Action: "run", Package: suite, Test: "TestSpecs"},
					{Action: "output", Package: suite, Test: "TestSpecs",
						Output: "Ran 2 of 3 Specs\n2 Passed | 0 Failed | 0 Pending | 1 Skipped\n"},
					{Action: "pass", Package: suite, Test: "TestSpecs"}, {Action: "pass", Package: suite}}),
			specs: []specReport{
				{ContainerHierarchyTexts: plan, LeafNodeType: "It", LeafNodeText: "is  made", State: "passed"},
				{ContainerHierarchyTexts: plan, LeafNodeType: "It", LeafNodeText: "ends", State: "failed"},
				{LeafNodeType: "It", LeafNodeText: "isn't asked for", State: "skipped"},
				{LeafNodeType: "BeforeSuite", State: "passed"},
			},
			want: []string{"test/integration TestHelper", "test/integration a plan ends",
				"test/integration a plan is made"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tally := newTally()
			var got []string
			for _, e := range tc.events {
				if result, ended := tally.observe(e); ended {
					result.detail(tc.specs)
					got = append(got, result.names...)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q: %s", got, tc.want, tc.reason)
			}
		})
	}
	whole := packageResult{name: "./test/e2e"} // as ginkgo runs it, without go test
	whole.detail([]specReport{{LeafNodeType: "It", LeafNodeText: "survives", State: "passed"}})
	if want := []string{"test/e2e survives"}; !slices.Equal(whole.names, want) {
		t.Errorf("a suite that runs by itself is listed as %q, want %q", whole.names, want)
	}
}

// TestARunWritesItsNames runs a real stage over a module of its own.
func TestARunWritesItsNames(t *testing.T) {
	root, list := t.TempDir(), filepath.Join(t.TempDir(), "names")
	for name, text := range map[string]string{
		"go.mod": "module example.test/m\n\ngo 1.26.0\n",
		"one/one_test.go": "package one\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {}\n\n" +
			"func TestMore(t *testing.T) { t.Run(\"part\", func(*testing.T) {}) }\n",
		"two/two_test.go": "package two\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {}\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		reason   string
		packages []string
		want     string
	}{
		{"all packages but those that are left out", nil,
			"example.test/m/one TestMore/part\nexample.test/m/one TestOne\nexample.test/m/two TestTwo\n"},
		{"the named packages alone", []string{"./two"}, "example.test/m/two TestTwo\n"},
	} {
		var out strings.Builder
		r := &runner{root: root, out: &out, now: time.Now, began: time.Now(), reports: t.TempDir(), names: list,
			packages: tc.packages}
		if !r.run(context.Background(), []stage{{name: "unit", steps: []step{{dir: ".", skip: clusterTests()}}}}) {
			t.Fatalf("the run failed:\n%s", &out)
		}
		got, err := os.ReadFile(list)
		if err != nil || string(got) != tc.want {
			t.Errorf("the list is\n%s, want\n%s: %s (%v)", got, tc.want, tc.reason, err)
		}
	}
}

func TestPackagesAreNamedForTheStageOfUnits(t *testing.T) {
	unit, err := choose(stages(), []string{"unit"})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		stages []stage
		named  []string
		want   []string
		err    string
	}{
		"none: all":            {stages: stages()},
		"a folder":             {stages: unit, named: []string{"./internal/prose"}, want: []string{"./internal/prose"}},
		"without its dot":      {stages: unit, named: []string{"internal/prose/"}, want: []string{"./internal/prose"}},
		"by its path":          {stages: unit, named: []string{module + "policies"}, want: []string{"./policies"}},
		"all below":            {stages: unit, named: []string{"./internal/..."}, want: []string{"./internal/..."}},
		"of every stage":       {stages: stages(), named: []string{"./api/..."}, err: "for the stage unit alone"},
		"with a control plane": {stages: unit, named: []string{"./test/integration"}, err: "needs a control plane"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := packagesOf(tc.stages, tc.named)
			if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("the error is %v, want one with %q", err, tc.err)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
