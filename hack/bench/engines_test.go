// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestPodRulesAreThirtyAtLeastAndEachHasAConstraint(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yaml")
	count, err := writePodRules(file)
	if err != nil || count < 30 {
		t.Fatalf("%d rules, %v", count, err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for document := range bytes.SplitSeq(text, []byte("---\n")) {
		var object struct{ Kind string }
		if len(document) == 0 {
			continue
		}
		if err := json.Unmarshal(document, &object); err != nil {
			t.Fatal(err)
		}
		kinds[object.Kind]++
	}
	if kinds["ConstraintTemplate"] != count || len(kinds) != count+1 {
		t.Errorf("%d templates, %d kinds of constraints; there are %d rules", kinds["ConstraintTemplate"], len(kinds)-1,
			count)
	}
}

func TestPodReviewsAreTheSameForTheSameSeed(t *testing.T) {
	written := func(seed uint64) string {
		file := filepath.Join(t.TempDir(), "reviews")
		if _, err := writePodReviews(file, 20, seed); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if first := written(1); first != written(1) || first == written(2) {
		t.Error("a seed doesn't say which reviews there are")
	}
}

func TestJudgesAreHeldToTheSameMessages(t *testing.T) {
	says := func(text string) judge {
		return judge{name: text, command: []string{"sh", "-c", "echo '" + text + "'"}}
	}
	for name, tc := range map[string]struct {
		judges []judge
		count  int
		err    string
	}{
		"the same":              {[]judge{says(`[["a","b"],[]]`), says(`[["a","b"],[]]`)}, 2, ""},
		"another message":       {[]judge{says(`[["a"]]`), says(`[["b"]]`)}, 0, "differ in review 0"},
		"one review less":       {[]judge{says(`[["a"],["b"]]`), says(`[["a"]]`)}, 0, "differ in review"},
		"one told twice":        {[]judge{says(`[["a"]]`), says(`[["a","a"]]`)}, 0, "differ in review 0"},
		"nothing found by both": {[]judge{says(`[[]]`), says(`[[]]`)}, 0, "that proves nothing"},
		"no JSON":               {[]judge{says(`oops`)}, 0, "read what oops says"},
	} {
		t.Run(name, func(t *testing.T) {
			count, err := alike(t.Context(), tc.judges, "")
			if count != tc.count || (err == nil) != (tc.err == "") ||
				err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%d, %v", count, err)
			}
		})
	}
}

func TestFiguresHaveTheirRatiosByRound(t *testing.T) {
	ms := func(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }
	got := enginesTable([]judge{{name: "one"}, {name: "other"}}, [][]measurement{
		{{ms(1), ms(2)}, {ms(2), ms(2)}, {ms(3), ms(2)}}, {{ms(10), ms(20)}, {ms(40), ms(20)}, {ms(45), ms(20)}}})
	for _, want := range []string{
		"| one | 2.00 ms (1.00 ms – 3.00 ms) | 1.0 (1.0 – 1.0) | 2.00 ms (2.00 ms – 2.00 ms) | 1.0 (1.0 – 1.0) |",
		"| other | 40.00 ms (10.00 ms – 45.00 ms) | 15.0 (10.0 – 20.0) | 20.00 ms (20.00 ms – 20.00 ms) | " +
			"10.0 (10.0 – 10.0) |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no line %q in\n%s", want, got)
		}
	}
}
