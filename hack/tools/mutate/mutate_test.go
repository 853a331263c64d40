// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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

func TestMutantsEndAsTheirTestsDo(t *testing.T) {
	root := t.TempDir()
	test := "import \"testing\"\n\nfunc TestIt(t *testing.T) { if !testing.Short() || !It(1) { t.Error() } }\n"
	write(t, root, map[string]string{
		"go.mod": "module example.test/m\n\ngo 1.26.0\n",
		"good/good.go": "package good\n\nconst some = 1 + 1\n\nfunc It(n int) bool {\n\tswitch {\n\tcase n < " +
			"some:\n\t\treturn true\n\t}\n" +
			"\tif n > 5 {\n\t\treturn n > 9\n\t}\n\treturn false\n}\n",
		"good/good_test.go":     "package good\n\n" + test,
		"good/below/it_test.go": "package below\n\nimport \"testing\"\n\nfunc TestIt(t *testing.T) { t.Error() }\n",
		"bad/bad.go":            "package bad\n\nfunc It(n int) bool { return n != 1 }\n",
		"bad/bad_test.go":       "package bad\n\n" + test,
		"broken/broken.go":      "package broken\n\nfunc It(n int) bool { return \"a\" - \"b\" }\n",
		"broken/broken_test.go": "package broken\n\n" + test,
	})
	goCommand, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(goVariable, goCommand)
	t.Chdir(root)
	cover := filepath.Join(root, "cover")
	for _, tc := range []struct {
		args []string
		want int
	}{
		{[]string{"test", "-timeout", "99s", "./bad"}, 1},
		{[]string{"test", "./broken"}, notViable},
		{[]string{"test", "-cover", "-coverprofile", cover, "./good/..."}, 0},
		{[]string{"vet", "./broken"}, 1},
		{[]string{"version"}, 0},
	} {
		if code := standIn(tc.args); code != tc.want {
			t.Errorf("go %v ends with %d, want %d", tc.args, code, tc.want)
		}
	}
	profile, err := os.ReadFile(cover)
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
