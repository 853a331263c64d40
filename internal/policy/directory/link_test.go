// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestALinkToNothingAmongPoliciesIsTold: what it leads to might have been policies, their tests or their examples.
func TestALinkToNothingAmongPoliciesIsTold(t *testing.T) {
	for link, want := range map[string]struct{ fails, told bool }{
		"tags/tags.rego": {fails: true}, "tags/tags_test.rego": {fails: true}, "tags/examples.yaml": {fails: true},
		"more": {told: true}, "tags/more": {told: true}, "tags/README.md": {}, "tags/.hidden": {}, ".git/more": {},
	} {
		t.Run(link, func(t *testing.T) {
			policies := filepath.Join(t.TempDir(), "policies")
			if err := errors.Join(os.MkdirAll(filepath.Join(policies, "tags"), 0o700),
				os.MkdirAll(filepath.Join(policies, ".git"), 0o700),
				os.Symlink("../gone", filepath.Join(policies, link))); err != nil {
				t.Fatal(err)
			}
			tree, err := Open(policies)
			if err != nil {
				t.Fatal(err)
			}
			var found problems
			if _, err := readTree(tree.FS, tree.Root, &found); err != nil {
				t.Fatal(err)
			}
			problem := Problem{File: "policies/" + link,
				Message: "it is a link to ../gone, which isn't there: correct the link, or remove it"}
			if got := slices.Contains(found.list, problem); got != want.fails {
				t.Errorf("it is an error: %t; found %v", got, found.list)
			}
			if got := slices.Contains(tree.LinksToNothing(), problem); got != want.told {
				t.Errorf("it is told: %t; told %v", got, tree.LinksToNothing())
			}
		})
	}
}
