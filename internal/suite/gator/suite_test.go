// SPDX-License-Identifier: Apache-2.0

package gator_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"evenkeel.dev/evenkeel/internal/suite"
	"evenkeel.dev/evenkeel/internal/suite/gator"
)

// TestASuiteIsOneWhateverIsWrongWithIt: a file that says that it is a suite must not pass for something else.
func TestASuiteIsOneWhateverIsWrongWithIt(t *testing.T) {
	for name, tc := range map[string]struct {
		text  string
		wrong bool
	}{
		"tabs":        {head + "\t- {name: t}", true},
		"quoted":      {"\"apiVersion\": 'test.gatekeeper.sh/v1alpha1'\nkind: Suite\ntests: [", true},
		"JSON":        {`{"apiVersion": "test.gatekeeper.sh/v1alpha1", "kind": "Suite", "tests": [`, true},
		"indented":    {"  apiVersion: test.gatekeeper.sh/v1alpha1\n  kind: Suite\n  tests: [", true},
		"a key twice": {`{kind: Suite, apiVersion: test.gatekeeper.sh/v1alpha1, tests: [], tests: []}`, true},
		"commented":   {"# apiVersion: test.gatekeeper.sh/v1alpha1\na: {b", false},
		"mentioned":   {"text: see test.gatekeeper.sh/v1alpha1\na: {b", false},
		"other kind":  {"apiVersion: test.gatekeeper.sh/v1alpha1\nkind: Sweet\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := fstest.MapFS{"a/s.yaml": {Data: []byte(tc.text)}}
			n, err := gator.Run(t.Context(), fsys, ".", suite.Options{}, &suite.Report{})
			if n != 0 || (err != nil) != tc.wrong || err != nil && !strings.Contains(err.Error(), "a/s.yaml") {
				t.Errorf("%d suites, %v; want an error: %v", n, err, tc.wrong)
			}
		})
	}
}

func TestALinkToASuiteIsOne(t *testing.T) {
	for name, tc := range map[string]struct {
		link, to string
		suites   int
		wrong    bool
	}{
		"to a file":                {link: "suites/s.yaml", to: "../elsewhere.yaml", suites: 1},
		"to a file, by no name":    {link: "suites/s.txt", to: "../elsewhere.yaml"},
		"to a directory":           {link: "suites/more", to: "../suites"},
		"to a directory, as .yaml": {link: "suites/more.yaml", to: "../suites"},
		"to nothing":               {link: "suites/s.yaml", to: "../nowhere.yaml", wrong: true},
		"to nothing, an editor's":  {link: "suites/.#s.yaml", to: "user@host.1"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, err := range []error{os.Mkdir(filepath.Join(dir, "suites"), 0o700),
				os.WriteFile(filepath.Join(dir, "elsewhere.yaml"), []byte(head), 0o600),
				os.Symlink(tc.to, filepath.Join(dir, tc.link))} {
				if err != nil {
					t.Fatal(err)
				}
			}
			n, err := gator.Run(t.Context(), os.DirFS(dir), "suites", suite.Options{}, &suite.Report{})
			if n != tc.suites || (err != nil) != tc.wrong || err != nil && !strings.Contains(err.Error(), "s.yaml") {
				t.Errorf("%d suites, %v", n, err)
			}
		})
	}
}
