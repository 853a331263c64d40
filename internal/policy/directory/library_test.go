// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"evenkeel.dev/evenkeel/internal/policy/directory"
)

const usesRim = `package a.hats

import data.lib.rim

deny contains "hat" if {
	rim.wide
	input.object.spec.hat
}
`

// TestALibraryThatIsNamedStandsInForTheNearest has a policy that imports what only the library elsewhere holds.
func TestALibraryThatIsNamedStandsInForTheNearest(t *testing.T) {
	top := t.TempDir()
	files := map[string]string{
		"alone/hats/hats.rego":    minimalHead + usesRim,
		"beside/hats/hats.rego":   minimalHead + usesRim,
		"beside/lib/rim.rego":     "package lib.rim\n\nother := true\n",
		"elsewhere/deep/rim.rego": "package lib.rim\n\nwide if true\n",
		"empty/README.md":         "no Rego\n",
	}
	for name, text := range files {
		file := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct{ reason, dir, library, fails string }{
		"none near":    {"a library elsewhere", "alone", "elsewhere", ""},
		"one near":     {"the one that is named, not both", "beside", "elsewhere", ""},
		"one above":    {"as for the whole directory", "beside/hats", "elsewhere", ""},
		"the near one": {"it lacks the rule", "beside", "", "nothing defines data.lib.rim.wide"},
		"nothing there": {"a wrong path", "alone", "nowhere",
			"nowhere: there is no such directory: give the directory"},
		"a directory of no Rego": {"a wrong path", "alone", "empty",
			"empty holds no Rego (*.rego): give the directory"},
		"a file": {"a wrong path", "alone", "elsewhere/deep/rim.rego",
			"rim.rego is a file: give the directory"},
	} {
		t.Run(name, func(t *testing.T) {
			library := tc.library
			if library != "" {
				library = filepath.Join(top, library)
			}
			tree, err := directory.OpenWith(filepath.Join(top, tc.dir), library)
			if err == nil {
				_, err = directory.Load(tree.FS, tree.Root)
			}
			if (err == nil) != (tc.fails == "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Fatalf("%s: got %v, want %q", tc.reason, err, tc.fails)
			}
		})
	}
}

// TestWhatLinksLeadToIsToldOrRead has links and pipes where policies are looked for.
func TestWhatLinksLeadToIsToldOrRead(t *testing.T) {
	top := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"policies/hats", "elsewhere/caps", "docs/pages", "piped/hats"} {
		must(os.MkdirAll(filepath.Join(top, dir), 0o755))
	}
	policy := []byte(minimalHead + goodBody)
	for _, file := range []string{"policies/hats/hats.rego", "elsewhere/caps/caps.rego", "piped/hats/hats.rego"} {
		must(os.WriteFile(filepath.Join(top, file), policy, 0o600))
	}
	must(os.WriteFile(filepath.Join(top, "docs/pages/a.md"), nil, 0o600))
	for link, to := range map[string]string{"link": "policies", "policies/docs": "../docs",
		"policies/gone": "../nowhere", "linked": "elsewhere"} {
		must(os.Symlink(to, filepath.Join(top, link)))
	}
	must(os.MkdirAll(filepath.Join(top, "linking"), 0o755))
	must(os.Symlink("../policies/hats", filepath.Join(top, "linking/hats")))
	must(syscall.Mkfifo(filepath.Join(top, "piped/hats/more.rego"), 0o600))
	for name, tc := range map[string]struct{ dir, fails string }{
		"a directory with other links": {"policies", ""},
		"a link to one":                {"link", ""},
		"a policy that is a link":      {"linking", "hats: it is a link to a directory with Rego"},
		"a pipe":                       {"piped", "piped/hats/more.rego: it is a named pipe (FIFO), not a file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(top, tc.dir)
			if held, err := directory.HoldsRego(dir); err != nil || held != (tc.dir != "linking") {
				t.Errorf("it holds Rego: %t, %v", held, err)
			}
			tree, err := directory.Open(dir)
			if err == nil {
				_, err = directory.Load(tree.FS, tree.Root)
			}
			if (err == nil) != (tc.fails == "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("got %v, want %q", err, tc.fails)
			}
		})
	}
}
