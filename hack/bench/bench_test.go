// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestManifestsAreTheSameEachTimeAndBreakEachRule(t *testing.T) {
	read := func() string {
		dir := t.TempDir()
		if err := writeManifests(dir, 240); err != nil {
			t.Fatal(err)
		}
		var all []string
		err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			all = append(all, string(text))
			return err
		})
		if err != nil || len(all) != 240 {
			t.Fatalf("%d files, %v", len(all), err)
		}
		return strings.Join(all, "---\n")
	}
	first := read()
	if first != read() {
		t.Error("two runs write different manifests")
	}
	for _, part := range []string{":latest", "privileged: true", "hostNetwork: true", "kind: StatefulSet",
		"kind: CronJob", "kind: ConfigMap", "kind: Service", "kind: Pod\n"} {
		if !strings.Contains(first, part) {
			t.Errorf("no manifest has %q", part)
		}
	}
	if strings.Contains(first, "<no value>") {
		t.Error("a template lacks a value")
	}
}

func TestMessagesAreReadFromEachTool(t *testing.T) {
	for name, tc := range map[string]struct {
		read   func([]byte) ([]string, error)
		output string
	}{
		"evenkeel": {ownMessages,
			`{"results": [{"violations": [{"message": "a"}, {"message": "b"}]}, {"warnings": [{"message": "c"}]}]}`},
		"conftest": {conftestMessages,
			`[{"failures": [{"msg": "a"}]}, {"successes": 3}, {"failures": [{"msg": "b"}]}]`},
		"gator": {gatorMessages, `[{"msg": "a"}, {"msg": "b"}]`},
	} {
		got, err := tc.read([]byte(tc.output))
		if err != nil || !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if _, err := tc.read([]byte("panic")); err == nil {
			t.Errorf("%s: what is no JSON passes for no violations", name)
		}
	}
}

func TestMedian(t *testing.T) {
	if got := median([]float64{9, 1, 5}); got != 5 {
		t.Errorf("of three: %v", got)
	}
	if got := median([]float64{4, 1, 9, 2}); got != 3 {
		t.Errorf("of four: %v", got)
	}
	seconds := func(n ...time.Duration) []time.Duration {
		for i := range n {
			n[i] *= time.Second
		}
		return n
	}
	if got := ratios(seconds(1, 2), seconds(3, 8)); !slices.Equal(got, []float64{3, 4}) {
		t.Errorf("ratios: %v", got)
	}
}

func TestReplaceTableKeepsWhatIsAroundIt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	begin, end := "<!-- begin: make bench-check -->\n", "<!-- end: make bench-check -->\n"
	if err := os.WriteFile(file, []byte("before\n"+begin+"old\n"+end+"after\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := replaceTable(file, "bench-check", "new\n"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if want := "before\n" + begin + "new\n" + end + "after\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.WriteFile(file, []byte("no place\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := replaceTable(file, "bench-check", "new\n"); err == nil {
		t.Error("a page without a place is accepted")
	}
}
