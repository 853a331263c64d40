// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestStagesRunBesideThoseThatTheyName(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		chosen []string
		want   []string
	}{
		"both": {
			reason: "they wait most of the time",
			chosen: []string{"e2e", "chaos"}, want: []string{"e2e+chaos"},
		},
		"one alone": {
			reason: "whoever asks for one stage gets that one",
			chosen: []string{"chaos"}, want: []string{"chaos"},
		},
		"one that measures time": {
			reason: "nothing else takes the processors meanwhile",
			chosen: []string{"integration", "large"}, want: []string{"large", "integration"},
		},
		"with others between": {
			reason: "the group stands where the first of it does",
			chosen: []string{"docs", "hack", "attack"}, want: []string{"hack+docs", "attack"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			chosen, err := choose(stages(), tc.chosen)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, group := range groups(chosen) {
				var names []string
				for _, s := range group {
					names = append(names, s.name)
				}
				got = append(got, strings.Join(names, "+"))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v: %s", got, tc.want, tc.reason)
			}
		})
	}
}

// TestWhatRunsAgainIsNamed: the journeys are among the integration tests, and their stage is there for its table.
func TestWhatRunsAgainIsNamed(t *testing.T) {
	all, err := choose(stages(), nil)
	if err != nil || slices.ContainsFunc(all, func(s stage) bool { return s.again }) || len(all) != len(stages())-1 {
		t.Errorf("of %d stages %d are run by themselves, error %v; want all but one", len(stages()), len(all), err)
	}
	named, err := choose(stages(), []string{"journeys"})
	if err != nil || len(named) != 1 || !named[0].again {
		t.Fatalf("named are %v, error %v", named, err)
	}
	runs := func(s stage) bool {
		return slices.ContainsFunc(s.steps, func(s step) bool { return slices.Contains(s.test, "./test/journeys/...") })
	}
	if !slices.ContainsFunc(all, runs) {
		t.Error("a run of all stages leaves the journeys out")
	}
}

func TestStagesStandBesideEarlierOnes(t *testing.T) {
	var before []string
	for _, s := range stages() {
		if s.beside != "" && !slices.Contains(before, s.beside) {
			t.Errorf("%s stands beside %s, which is no earlier stage", s.name, s.beside)
		}
		before = append(before, s.name)
	}
}

// TestEachLargeTestRunsInItsStage has the tests that the stage unit leaves out exist where the
// stage large looks for them: a name that no test bears any more would drop nothing, and prove
// nothing either; one that stands in two packages would be dropped from the other.
func TestEachLargeTestRunsInItsStage(t *testing.T) {
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	runs, leavesOut := map[string]bool{}, ""
	for _, s := range stages() {
		for _, step := range s.steps {
			if s.name == "large" {
				for _, pkg := range step.test {
					runs[pkg] = true
				}
			}
			for _, arg := range step.test {
				if pattern, skips := strings.CutPrefix(arg, "-skip="); skips {
					leavesOut = pattern
				}
			}
		}
	}
	if !runs["-run="+leavesOut] {
		t.Errorf("what is left out, %q, is run by no stage: %v", leavesOut, runs)
	}
	for pkg, names := range largeTests() {
		if !runs[pkg] {
			t.Errorf("%s isn't run by the stage large", pkg)
		}
		for _, name := range names {
			found, err := exec.Command("grep", "-rlw", "--include=*_test.go", "func "+name, root).Output()
			if want := filepath.Join(root, pkg); err != nil || filepath.Dir(strings.TrimSpace(string(found))) != want {
				t.Errorf("%s is to stand in %s alone, and stands in %q (%v)", name, want, found, err)
			}
		}
	}
}

// TestWhatRunsAtOnceMeets has a reader and a writer of the same pipe, which only end when they
// run at the same time: as two stages, then as two steps of one.
func TestWhatRunsAtOnceMeets(t *testing.T) {
	read := step{command: []string{"cat", "pipe"}}
	write := step{command: []string{"sh", "-c", "echo 3 passed, 0 failed >pipe"}}
	for name, chosen := range map[string][]stage{
		"stages": {{name: "reads", steps: []step{read}}, {name: "writes", beside: "reads", steps: []step{write}}},
		"steps":  {{name: "both", together: true, steps: []step{read, write}}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			r := &runner{root: t.TempDir(), out: io.Discard, now: time.Now, began: time.Now()}
			if err := r.command(ctx, ".", "mkfifo", "pipe").Run(); err != nil {
				t.Fatal(err)
			}
			if !r.run(ctx, chosen) {
				t.Error("they haven't met")
			}
		})
	}
}

func TestAVitalStageEndsTheRun(t *testing.T) {
	var out strings.Builder
	r := &runner{root: t.TempDir(), out: &out, now: time.Now, began: time.Now()}
	fails, passes := step{command: []string{"false"}}, step{command: []string{"true"}}
	if r.run(t.Context(), []stage{{name: "first", vital: true, steps: []step{fails}}, {name: "second",
		steps: []step{passes}}}) {
		t.Error("a run with a failure passed")
	}
	if !strings.Contains(out.String(), "Nothing further can run without first") ||
		strings.Contains(out.String(), "second:") {
		t.Errorf("it goes on:\n%s", out.String())
	}
}

func TestProgramsOfTestsAreLinkedWithoutDebugging(t *testing.T) {
	for given, want := range map[string]string{
		"":                 "-ldflags=-w",
		"-race":            "-race -ldflags=-w",
		"-ldflags=-extld=": "-ldflags=-extld=",
	} {
		if got := linking(given); got != want {
			t.Errorf("GOFLAGS=%q becomes %q, want %q", given, got, want)
		}
	}
}

func TestProcessorsAreCounted(t *testing.T) {
	r := &runner{root: t.TempDir(), out: io.Discard, now: time.Now}
	busy := step{command: []string{"sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"}}
	if got := r.runStage(t.Context(), stage{name: "busy", steps: []step{busy}}); got.processors < 50*time.Millisecond {
		t.Errorf("a loop took %s of the processors", got.processors)
	}
}

// TestTheReadmeListsTheStages: in the order of a run, each once.
func TestTheReadmeListsTheStages(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "\n    STAGE ")
	if !found {
		t.Fatal("README.md has no table of the stages")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var listed, want []string
	for _, line := range strings.Split(table, "\n")[1:] {
		listed = append(listed, strings.Fields(line)[0])
	}
	whole, err := choose(stages(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range groups(whole) {
		for _, s := range group {
			want = append(want, s.name)
		}
	}
	if !slices.Equal(listed, want) {
		t.Errorf("README.md lists the stages %v, a run has %v", listed, want)
	}
}
