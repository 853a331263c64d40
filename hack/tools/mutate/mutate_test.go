// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMain lets the test program stand in for the go command, as the program does.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == program {
		os.Exit(standIn(os.Args[1:]))
	}
	os.Exit(m.Run())
}

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil { // one of them is a program
			t.Fatal(err)
		}
	}
}

// A gremlins that notes how the go command ends for it, and reports two mutants.
const fakeGremlins = `#!/bin/sh
set -eu
for word; do case $last in --output) report=$word;; esac; last=$word; done
last=
status() { code=0; "$@" >/dev/null 2>&1 || code=$?; echo $code; }
(cd "$last" && printf '%s %s %s\n' "$(status go test -timeout 9s ./good)" "$(status go test ./bad)" "$(status go test ./broken)") > "$TMPDIR/codes"
(cd "$last" && go test -cover -coverprofile "$TMPDIR/cover" ./good/...) >/dev/null
echo '      KILLED CONDITIONALS_NEGATION at good.go:4:9'
echo '       LIVED CONDITIONALS_BOUNDARY at good.go:4:9'
printf '%s' '{"files":[{"file_name":"good.go","mutations":[{"type":"CONDITIONALS_BOUNDARY","status":"LIVED","line":6,"column":9},
 {"type":"CONDITIONALS_NEGATION","status":"KILLED","line":6,"column":9}, {"type":"ARITHMETIC_BASE","status":"NOT COVERED","line":3,"column":13}]}]}' > "$report"
`

// TestWhatGremlinsIsTold runs the whole of it, with a gremlins that only calls the go command.
func TestWhatGremlinsIsTold(t *testing.T) {
	root, scratch := t.TempDir(), t.TempDir()
	test := "import \"testing\"\n\nfunc TestIt(t *testing.T) { if !testing.Short() || !It(1) { t.Error() } }\n"
	write(t, root, map[string]string{
		"go.mod": "module example.test/m\n\ngo 1.26.0\n",
		"good/good.go": "package good\n\nconst some = 1 + 1\n\nfunc It(n int) bool {\n\tswitch {\n\tcase n < " +
			"some:\n\t\treturn true\n\t}\n" +
			"\tif n > 5 {\n\t\treturn n > 9\n\t}\n\treturn false\n}\n",
		"good/good_test.go":     "package good\n\n" + test,
		"bad/bad.go":            "package bad\n\nfunc It(n int) bool { return n != 1 }\n",
		"bad/bad_test.go":       "package bad\n\n" + test,
		"broken/broken.go":      "package broken\n\nfunc It(n int) bool { return \"a\" - \"b\" }\n",
		"broken/broken_test.go": "package broken\n\n" + test,
		"gremlins":              fakeGremlins,
	})
	if out, err := exec.Command("git", "init", root).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("TMPDIR", scratch)
	t.Setenv("last", "")
	t.Chdir(root)
	var out strings.Builder
	err := run(context.Background(),
		[]string{"--gremlins", filepath.Join(root, "gremlins"), "--killed=60", "--covered=10", "./good"}, &out)
	if err == nil || err.Error() != "below 60 % killed or 10 % covered: good" {
		t.Errorf("one of two lived, which ends in %v", err)
	}
	for _, want := range []string{
		"good: 3 mutants, 0 of them covered by its tests\n",
		"  not covered good/good.go:3:13: ARITHMETIC_BASE: const some = 1 + 1\n",
		"  lived       good/good.go:6:9: CONDITIONALS_BOUNDARY: switch {\n",
		"50.0 %", "66.7 %",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in\n%s", want, out.String())
		}
	}
	codes, err := os.ReadFile(filepath.Join(scratch, "codes"))
	if want := "0 1 2\n"; string(codes) != want || err != nil {
		t.Errorf("go test ends with %q, want %q for one that passes, one that fails and one that isn't built (%v)",
			codes, want, err)
	}
	profile, err := os.ReadFile(filepath.Join(scratch, "cover"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(profile), "\n")
	for line, reason := range map[string]string{
		"example.test/m/good/good.go:3.1,3.19 1 1":   "a constant's value counts",
		"example.test/m/good/good.go:7.7,7.15 1 1":   "a case's condition counts as its switch",
		"example.test/m/good/good.go:10.11,12.3 1 0": "what isn't run stays so",
	} {
		if !slices.Contains(lines, line) {
			t.Errorf("%s: want %q in\n%s", reason, line, profile)
		}
	}
}

func TestTheConditionsOfASwitchThatIsntReached(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"a.go": "package m\n\nfunc f(n int) {\n\tif n > 1 {\n\t\tswitch {\n\t\tcase n > 2:\n\t\t}\n\t}\n}\n"})
	profile := "mode: set\nexample.test/m/a.go:3.15,4.11 1 1\nexample.test/m/a.go:4.11,5.10 1 0\n"
	got, err := amended(profile, "example.test/m", root)
	if want := profile + "example.test/m/a.go:6.8,6.13 1 0\n"; got != want || err != nil {
		t.Errorf("got\n%s, %v, want\n%s", got, err, want)
	}
}

func TestChange(t *testing.T) {
	for name, tc := range map[string]struct {
		line   string
		mutant mutant
		want   string
	}{
		"a bound":                {"if a <= b {", mutant{Type: "CONDITIONALS_BOUNDARY", Column: 6}, "<= became <"},
		"the contrary":           {"if a <= b {", mutant{Type: "CONDITIONALS_NEGATION", Column: 6}, "<= became >"},
		"a step":                 {"n++", mutant{Type: "INCREMENT_DECREMENT", Column: 2}, "++ became --"},
		"a sum":                  {"n + 1", mutant{Type: "ARITHMETIC_BASE", Column: 3}, "+ became -"},
		"what nobody knows here": {"n & 1", mutant{Type: "INVERT_BITWISE", Column: 3}, "INVERT_BITWISE"},
		"past the line":          {"n", mutant{Type: "ARITHMETIC_BASE", Column: 9}, "ARITHMETIC_BASE"},
	} {
		if got := tc.mutant.change(tc.line); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

func TestScores(t *testing.T) {
	got := count("d", []mutant{{Status: killed}, {Status: killed}, {Status: killed}, {Status: lived},
		{Status: timedOut}, {Status: notCovered},
		{Status: unbuilt}})
	if want := (tally{"d", 3, 1, 1, 1, 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got.score() != 75 || got.coverage() != 100*5./6 {
		t.Errorf("%v killed and %v covered, want 75 and 83.3: what can't be built or doesn't end isn't killed",
			got.score(), got.coverage())
	}
	if none := (tally{}); none.score() != 100 || none.coverage() != 100 {
		t.Errorf("of nothing, %v is killed and %v covered", none.score(), none.coverage())
	}
}

// TestChanged begins on main and leaves it.
func TestChanged(t *testing.T) {
	root := t.TempDir()
	do := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git",
			append([]string{"-C", root, "-c", "user.name=a", "-c", "user.email=a@example.test", "-c",
				"commit.gpgsign=false"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	want := func(reason string, dirs ...string) {
		t.Helper()
		if _, got, err := changed(context.Background(), root); err != nil || !slices.Equal(got, dirs) {
			t.Errorf("%s: got %v, %v, want %v", reason, got, err, dirs)
		}
	}
	do("init", "-b", "main")
	write(t, root, map[string]string{"a/a.go": "package a\n", "b/b.go": "package b\n"})
	do("add", ".")
	do("commit", "-m", "one")
	write(t, root, map[string]string{"a/a.go": "package a // two\n", "b/README.md": "no code\n"})
	do("add", ".")
	do("commit", "-m", "two")
	want("on main it is its last commit", "a")
	do("checkout", "-b", "topic")
	write(t, root, map[string]string{"b/b.go": "package b // three\n"})
	do("commit", "-am", "three")
	want("a branch is all that it has of its own", "b")
	write(t, root, map[string]string{"a/a_test.go": "package a\n", "c/c.go": "package c\n"})
	do("add", "c")
	want("what isn't committed counts, too", "a", "b", "c")

	var out strings.Builder
	o := options{core: []string{"b", "d"}}
	if got, err := chosen(context.Background(), o, root, &out); err != nil || !slices.Equal(got, []string{"b"}) {
		t.Errorf("of the core, got %v, %v, want b", got, err)
	}
	o.core = []string{"d"}
	if got, err := chosen(context.Background(), o, root, &out); err != nil || len(got) > 0 {
		t.Errorf("got %v, %v, want nothing", got, err)
	}
	if !strings.HasPrefix(out.String(), "Nothing of the safety core has changed since ") {
		t.Errorf("got %q", out.String())
	}
	o.packages = []string{"all"}
	if got, err := chosen(context.Background(), o, root, &out); err != nil || !slices.Equal(got, []string{"d"}) {
		t.Errorf("all is %v, %v, want d", got, err)
	}
	o.packages = []string{"./a", "nowhere"}
	if got, err := chosen(context.Background(), o, root, &out); err == nil ||
		!strings.Contains(err.Error(), "nowhere") {
		t.Errorf("got %v, %v, want an error that names it", got, err)
	}
}
