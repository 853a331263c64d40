// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestBoundedKeepsWhatSaysWhy(t *testing.T) {
	var long []string
	for i := range 200 {
		long = append(long, fmt.Sprintf("line %d", i))
	}
	for name, tc := range map[string]struct {
		reason string
		output string
		want   []string
	}{
		"a test of go": {
			reason: "go test prints lines around it",
			output: "=== RUN   TestA\n    a_test.go:3: got 1, want 2\n--- FAIL: TestA (0.00s)\n",
			want:   []string{"    a_test.go:3: got 1, want 2"},
		},
		"a suite's dots, rules and colors": {
			reason: "a record of CI has room for little",
			output: "\x1b[38;5;10m•\x1b[0m\x1b[38;5;10m•\x1b[0m\n------------------------------\n<< Report " +
				"Entries\n\x1b[1mSummarizing 1 Failure:\x1b[0m\n••S•\n",
			want: []string{"Summarizing 1 Failure:"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := bounded(tc.output); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q: %s", got, tc.want, tc.reason)
			}
		})
	}
	got := bounded(strings.Join(long, "\n") + "\n" + strings.Repeat("é", 9999))
	if len(got) != messageLines || got[0] != "line 0" || len([]rune(got[len(got)-1])) > messageWidth+2 {
		t.Errorf("%d lines, from %q to %q", len(got), got[0], got[len(got)-1])
	}
}

// TestARecordSaysWhy runs a test that fails among others: its message comes right after its
// name, where a record of CI begins, and again at the very end.
func TestARecordSaysWhy(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"go.mod": "module example.test/m\n\ngo 1.26.0\n",
		"a_test.go": "package m\n\nimport \"testing\"\n\nfunc TestGood(t *testing.T) {}\n\nfunc TestBad(t " +
			"*testing.T) { t.Log(\"a note\"); t.Error(\"the reason\") }\n",
		"b_test.go": "package m\n\nimport (\"testing\"; \"time\")\n\nfunc TestSlow(t *testing.T) { time.Sleep(1100 * " +
			"time.Millisecond) }\n",
		"suite/x.go": "package suite\n",
	} {
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	r := &runner{root: root, out: &out, now: time.Now, began: time.Now(), reports: t.TempDir()}
	tests := []step{{dir: ".", test: []string{"."}}}
	loud := []step{{dir: ".", command: []string{"sh", "-c", "echo all is well, at length"}}}
	r.run(context.Background(), []stage{{name: "one", steps: tests}, {name: "other", steps: loud}})
	printed := out.String()
	want := "--- FAIL: TestBad (example.test/m, 0s)\n      a_test.go:7: a note\n      a_test.go:7: the reason\n"
	if strings.Count(printed, want) != 2 {
		t.Errorf("want twice\n%sin\n%s", want, printed)
	}
	if !strings.HasSuffix(printed, "the reason\n3 passed, 1 failed\n") {
		t.Errorf("the end doesn't say why:\n%s", printed)
	}
	if strings.Contains(printed, "at length") {
		t.Errorf("what passes takes the room of what fails:\n%s", printed)
	}
	if !strings.Contains(printed, "The slowest of one:\n     1.1s  TestSlow\n") {
		t.Errorf("the slowest aren't named:\n%s", printed)
	}
}

// TestASuiteIsToldSpecBySpec has the report of a suite take its place.
func TestASuiteIsToldSpecBySpec(t *testing.T) {
	dir := t.TempDir()
	bad := specReport{ContainerHierarchyTexts: []string{"A plan"}, LeafNodeType: "It", LeafNodeText: "ends",
		State: "failed", RunTime: 3 * time.Second,
		CapturedGinkgoWriterOutput: "The manager's log:\nit stopped\n"}
	bad.Failure.Message = "Timed out after 60s.\nExpected <string>: a to equal b"
	bad.Failure.Location.FileName, bad.Failure.Location.LineNumber = "/work/x/plan_test.go", 12
	raw, err := json.Marshal([]suiteReport{{SpecReports: []specReport{
		{ContainerHierarchyTexts: []string{"A plan"}, LeafNodeText: "begins", State: "passed",
			RunTime: 9 * time.Second}, bad,
		{LeafNodeType: "BeforeSuite", State: "passed", RunTime: 5 * time.Second}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "integration.json"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	r := &runner{out: &out, now: time.Now, reports: dir}
	result := packageResult{name: "example.test/m/test/integration", failed: true, counts: counts{passed: 1, failed: 1},
		failures: []failure{{test: "TestIntegration", suite: true, message: []string{"a row of dots"}},
			{test: "TestOther"}}}
	r.report(&result)
	want := "--- FAIL: TestIntegration (A plan ends, plan_test.go:12 after 3s)\n      Timed out after 60s.\n      " +
		"Expected <string>: a to equal b\n" +
		"      It noted:\n      The manager's log:\n      it stopped\n--- FAIL: TestOther\n"
	if !strings.HasPrefix(out.String(), want) {
		t.Errorf("want\n%sgot\n%s", want, out.String())
	}
	var names []string
	for _, timing := range slowest(result.timings) {
		names = append(names, timing.name)
	}
	if want := []string{"A plan begins", "[BeforeSuite]", "A plan ends"}; !slices.Equal(names, want) {
		t.Errorf("the slowest are %q, want %q", names, want)
	}
	if specs, err := readReport(dir, "example.test/m/test/unread"); specs != nil || err != nil {
		t.Errorf("a suite without a report: %v, %v", specs, err)
	}
}
