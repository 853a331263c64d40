// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAPolicyTakesItsThreeFiles follows the recipe in CONTRIBUTING by one policy that is there: besides its directory,
// only pages name it, of which `make generate` writes all that must. A list elsewhere would be a fourth file.
func TestAPolicyTakesItsThreeFiles(t *testing.T) {
	const dir, name = "policies/supplychain/immutable_tags", "immutable-tags"
	var named, files []string
	for _, tree := range []string{"api", "cmd", "config", "docs", "hack", "internal", "policies", "test"} {
		err := filepath.WalkDir(filepath.Join(root, tree), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() ||
				!slices.Contains([]string{".go", ".md", ".rego", ".yaml"}, filepath.Ext(path)) {
				return err
			}
			file, err := filepath.Rel(root, path)
			switch {
			case err != nil || file == "test/docs/recipes_test.go":
			case filepath.Dir(file) == dir:
				files = append(files, filepath.Base(file))
			case strings.Contains(readPath(t, path), name):
				named = append(named, file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"examples.yaml", "immutable_tags.rego", "immutable_tags_test.rego"},
		files); diff != "" {
		t.Errorf("%s holds other files than the recipe says (-recipe +there):\n%s", dir, diff)
	}
	if diff := cmp.Diff([]string{"docs/policies/" + name + ".md", "docs/policies.md"}, named); diff != "" {
		t.Errorf("a policy is named in other files than the recipe says: derive what is listed there from policies/ "+
			"(-recipe +there):\n%s", diff)
	}
}
