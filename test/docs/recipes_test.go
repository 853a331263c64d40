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

// The recipes in CONTRIBUTING are followed by what is there: each file that a recipe doesn't
// name, and that names the example, would be one more for whoever adds another.

func TestAPolicyTakesItsThreeFiles(t *testing.T) {
	const dir, name = "policies/supplychain/immutable_tags", "immutable-tags"
	files, err := filepath.Glob(filepath.Join(root, dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	want := []string{"examples.yaml", "immutable_tags.rego", "immutable_tags_test.rego"}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("%s holds other files than the recipe says (-recipe +there):\n%s", dir, diff)
	}
	named := slices.DeleteFunc(naming(t, name), func(file string) bool { return filepath.Dir(file) == dir })
	if diff := cmp.Diff([]string{"docs/policies.md", "docs/policies/" + name + ".md"}, named); diff != "" {
		t.Errorf("a policy is named in other files than the recipe says: derive what is listed there from policies/ "+
			"(-recipe +there):\n%s", diff)
	}
}

func TestAPhaseTakesItsSixFiles(t *testing.T) {
	recipe := []string{
		"api/v1alpha1/remediation_phase.go",
		"docs/concepts.md",
		"docs/rollout.md", // generated
		"internal/remediate/plan_conditions_test.go",
		"internal/remediate/rollout/machine.go",
		"internal/remediate/rollout/phase_planned.go",
		"internal/remediate/rollout/phase_planned_test.go",
	}
	if diff := cmp.Diff(recipe, naming(t, "PhasePreviewing", "`Previewing`")); diff != "" {
		t.Errorf("a phase is named in other files than the recipe says: ask for its facts there (-recipe +there):\n%s",
			diff)
	}
}

func TestAnActionTakesItsEightFiles(t *testing.T) {
	recipe := []string{
		"api/v1alpha1/strategy_types.go",
		"internal/policy/decision.go",
		"internal/policy/rego/result/forms.go",
		"internal/remediate/action/definition.go",
		"internal/remediate/action/restart.go",
	}
	product := slices.DeleteFunc(naming(t, "ActionRestart", "restartDefinition"), func(file string) bool {
		return strings.HasSuffix(file, "_test.go") // of its tests the recipe names two
	})
	if diff := cmp.Diff(recipe, product); diff != "" {
		t.Errorf("an action is named in other files than the recipe says: ask for its Definition there "+
			"(-recipe +there):\n%s", diff)
	}
}

func TestAMetricTakesItsThreeFiles(t *testing.T) {
	recipe := []string{"docs/operate.md", "docs/reference/signals.md", "internal/remediate/metrics.go"}
	if diff := cmp.Diff(recipe, naming(t, "evenkeel_analysis_samples_total")); diff != "" {
		t.Errorf("a metric is named in other files than the recipe says (-recipe +there):\n%s", diff)
	}
}

// naming are the files of the repository that hold any of some words, but for this one.
func naming(t *testing.T, words ...string) []string {
	t.Helper()
	var named []string
	for _, tree := range []string{"api", "cmd", "config", "docs", "hack", "internal", "pkg", "policies", "test"} {
		err := filepath.WalkDir(filepath.Join(root, tree), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() ||
				!slices.Contains([]string{".go", ".md", ".rego", ".yaml"}, filepath.Ext(path)) {
				return err
			}
			file, err := filepath.Rel(root, path)
			text := readPath(t, path)
			if file != "test/docs/recipes_test.go" &&
				slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) }) {
				named = append(named, file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(named)
	return named
}
