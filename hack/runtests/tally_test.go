// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTallyCountsWhatRan(t *testing.T) {
	ends := func(pkg, test, action string) event { return event{Action: action, Package: pkg, Test: test} }
	says := func(pkg, test, output string) event {
		return event{Action: "output", Package: pkg, Test: test, Output: output}
	}
	for name, tc := range map[string]struct {
		reason string
		events []event
		want   counts
	}{
		"leaves are counted and their parents aren't": {
			events: []event{ends("p", "TestA", "run"), ends("p", "TestA/x", "run"), ends("p", "TestA/y/z", "run"),
				ends("p", "TestA/x", "pass"), ends("p", "TestA/y/z", "fail"), ends("p", "TestA", "fail"),
				ends("p", "", "fail")},
			want: counts{passed: 1, failed: 1},
		},
		"a parent that fails alone is a failure": {
			events: []event{ends("p", "TestA", "run"), ends("p", "TestA/x", "run"), ends("p", "TestA/x", "pass"),
				ends("p", "TestA", "fail"), ends("p", "", "fail")},
			want: counts{passed: 1, failed: 1},
		},
		"a test that never ended is a failure": {
			reason: "a panic or the time limit ends the package without an end of the test",
			events: []event{ends("p", "TestA", "run"), ends("p", "TestB", "run"), ends("p", "TestA", "pass"),
				ends("p", "", "fail")},
			want: counts{passed: 1, failed: 1},
		},
		"a package that doesn't build is a failure": {
			events: []event{{Action: "build-output", ImportPath: "p [p.test]", Output: "x.go:1: bad\n"},
				{Action: "fail", Package: "p", FailedBuild: "p [p.test]"}},
			want: counts{failed: 1},
		},
		"a Ginkgo suite counts by its specs": {
			events: []event{ends("p", "TestSpecs", "run"), says("p", "TestSpecs", "\x1b[1mSUCCESS!\x1b[0m -- "+
				"\x1b[32m12 Passed\x1b[0m | \x1b[91m0 Failed\x1b[0m | 1 Pending | 2 Skipped\n"),
				ends("p", "TestSpecs", "pass"), ends("p", "", "pass")},
			want: counts{passed: 12, skipped: 3},
		},
		"a Ginkgo suite that fails outside its specs is a failure": {
			events: []event{ends("p", "TestSpecs", "run"),
				says("p", "TestSpecs", "FAIL! -- 0 Passed | 0 Failed | 0 Pending | 12 Skipped\n"),
				ends("p", "TestSpecs", "fail"), ends("p", "", "fail")},
			want: counts{failed: 1, skipped: 12},
		},
		"packages without tests count for nothing": {
			events: []event{ends("p", "", "skip")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tally := newTally()
			for _, e := range tc.events {
				tally.observe(e)
			}
			if tally.total != tc.want {
				t.Errorf("got %+v, want %+v %s", tally.total, tc.want, tc.reason)
			}
		})
	}
}

func TestClosingSummaryReadsTheLastLine(t *testing.T) {
	got, ok := closingSummary("1 passed, 1 failed\nthen more\n  \x1b[32m31 passed, 0 failed\x1b[0m in 9s\n")
	if want := (counts{passed: 31}); !ok || got != want {
		t.Errorf("got %+v %v, want %+v", got, ok, want)
	}
	if got, ok := closingSummary("all passed, nothing failed"); ok {
		t.Errorf("got %+v from a text without figures", got)
	}
}

// TestRunIsTrue runs real stages over a module of its own.
func TestRunIsTrue(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.test/m\n\ngo 1.26.0\n")
	write("good/good_test.go", "package good\n\nimport \"testing\"\n\nfunc TestGood(t *testing.T) {}\n")
	write("bad/bad_test.go",
		"package bad\n\nimport \"testing\"\n\nfunc TestBad(t *testing.T) { t.Error(\"the reason\") }\n")
	write("broken/broken_test.go", "package broken\n\nfunc {\n")
	write("empty/empty.go", "package empty\n")

	for name, tc := range map[string]struct {
		steps  []step
		passed bool
		closes string
		shows  string
	}{
		"tests that pass": {steps: []step{{dir: ".", test: []string{"./good"}}}, passed: true,
			closes: "1 passed, 0 failed"},
		"a test that fails": {steps: []step{{dir: ".", test: []string{"./good", "./bad"}}},
			closes: "1 passed, 1 failed", shows: "the reason"},
		"a package that doesn't compile": {steps: []step{{dir: ".", test: []string{"./good", "./broken"}}},
			closes: "1 passed, 1 failed", shows: "broken_test.go:3"},
		"packages left out": {steps: []step{{dir: ".", test: []string{}, skip: []string{"bad", "broken"}}},
			passed: true, closes: "1 passed, 0 failed"},
		"a folder that isn't there": {steps: []step{{dir: ".", test: []string{"./nowhere/..."}}},
			closes: "0 passed, 1 failed"},
		"a module that isn't there": {steps: []step{{dir: "nowhere", test: []string{"./..."}}},
			closes: "0 passed, 1 failed"},
		"a stage without tests": {steps: []step{{dir: ".", test: []string{"./empty"}}},
			closes: "0 passed, 1 failed", shows: "no test ran"},
		"a command that counts itself": {steps: []step{{dir: ".", command: []string{"echo", "7 passed, 0 failed"}}},
			passed: true, closes: "7 passed, 0 failed"},
		"a command that fails": {
			steps:  []step{{dir: ".", command: []string{"sh", "-c", "echo its words; exit 1"}}},
			closes: "0 passed, 1 failed", shows: "its words"},
		"a suite that can't be run": {steps: []step{{dir: ".", procs: 2, test: []string{"./good"}}},
			closes: "0 passed, 1 failed", shows: "ginkgo"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			r := &runner{root: root, out: &out, now: time.Now, began: time.Now(), reports: t.TempDir()}
			passed := r.run(context.Background(), []stage{{name: "only", steps: tc.steps}})
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if closing := lines[len(lines)-1]; passed != tc.passed || closing != tc.closes ||
				!strings.Contains(out.String(), tc.shows) {
				t.Errorf("passed %v, closing line %q; want %v, %q, showing %q in\n%s", passed, closing, tc.passed,
					tc.closes, tc.shows, out.String())
			}
		})
	}
}
