// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
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

func TestStagesStandBesideEarlierOnes(t *testing.T) {
	var before []string
	for _, s := range stages() {
		if s.beside != "" && !slices.Contains(before, s.beside) {
			t.Errorf("%s stands beside %s, which is no earlier stage", s.name, s.beside)
		}
		before = append(before, s.name)
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
