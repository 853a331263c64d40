// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const (
	lintPage = ".golangci.yml"
	// topLayer is that of what names everything: no rule holds it back.
	topLayer = "4"
)

// TestTheLayersAreThoseOfTheLinter: each package is of one layer, in CONTRIBUTING.md's table and by depguard's rules
// alike. So a new package is put into both.
func TestTheLayersAreThoseOfTheLinter(t *testing.T) {
	listed, rules := layersListed(t), layersOfRules(t)
	named := map[string]bool{}
	for _, tree := range []string{"api", "internal", "pkg", "cmd"} {
		for _, dir := range packagesBelow(t, tree) {
			if !hasProductCode(t, dir) {
				continue
			}
			layer, by := layerListed(listed, dir)
			named[by] = true
			var held []string
			for _, name := range slices.Sorted(maps.Keys(rules)) {
				if rules[name].holds(dir) {
					held = append(held, name)
				}
			}
			if len(held) == 0 {
				held = []string{topLayer}
			}
			if layer == "" || !slices.Equal(held, []string{layer}) {
				t.Errorf("%s is of layer %q in %s, and of %q by the rules layer-N of %s: put it into one layer in both",
					dir, layer, layoutPage, held, lintPage)
			}
		}
	}
	for folder := range listed {
		if !named[folder] {
			t.Errorf("%s puts %s into a layer, which isn't a package, nor has any", layoutPage, folder)
		}
	}
}

// hasProductCode says whether a folder holds more than what only tests import.
func hasProductCode(t *testing.T, dir string) bool {
	t.Helper()
	files, err := os.ReadDir(filepath.Join(root, dir))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(f os.DirEntry) bool {
		return strings.HasSuffix(f.Name(), ".go") && !strings.HasSuffix(f.Name(), "_test.go")
	})
}

// layersListed are the layers of CONTRIBUTING.md's table by the folders that it names; what follows "which" names what a
// package stands on, and not it.
func layersListed(t *testing.T) map[string]string {
	t.Helper()
	_, section, _ := strings.Cut(read(t, layoutPage), "\n### Who may import whom\n")
	section, _, _ = strings.Cut(section, "\n## ")
	row, name := regexp.MustCompile(`(?m)^\| (\d) \| (.+) \|$`), regexp.MustCompile("`([^`]+)`( \\(itself, not its children\\))?")
	layers := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(section, -1) {
		for part := range strings.SplitSeq(m[2], ";") {
			part, _, _ = strings.Cut(part, ", which ")
			for _, folder := range name.FindAllStringSubmatch(part, -1) {
				if layers[folder[1]] != "" {
					t.Errorf("%s puts %s into two layers", layoutPage, folder[1])
				}
				layers[folder[1]] = m[1]
			}
		}
	}
	if len(layers) < 30 {
		t.Fatalf("%s puts %d folders into layers: this test looks in the wrong place", layoutPage, len(layers))
	}
	return layers
}

// layerListed is the layer of the nearest folder above a package that the table names, and that folder.
func layerListed(listed map[string]string, dir string) (layer, by string) {
	for folder := dir; folder != "."; folder = filepath.ToSlash(filepath.Dir(folder)) {
		if folder == "internal/policy" && dir != folder {
			return "", "" // the table means it without its children
		}
		if listed[folder] != "" {
			return listed[folder], folder
		}
	}
	return "", ""
}

// layerFiles are the files that the rules of one layer hold.
type layerFiles struct{ in, out []string }

func (f layerFiles) holds(dir string) bool {
	matches := func(glob string) bool {
		if below, ok := strings.CutSuffix(glob, "/**"); ok {
			return dir == below || strings.HasPrefix(dir, below+"/")
		}
		return strings.TrimSuffix(glob, "/*.go") == dir
	}
	return slices.ContainsFunc(f.in, matches) && !slices.ContainsFunc(f.out, matches)
}

// layersOfRules are the files of depguard's rules layer-N, by N.
func layersOfRules(t *testing.T) map[string]layerFiles {
	t.Helper()
	var config struct {
		Linters struct {
			Settings struct {
				Depguard struct {
					Rules map[string]struct {
						Files []string `json:"files"`
					} `json:"rules"`
				} `json:"depguard"`
			} `json:"settings"`
		} `json:"linters"`
	}
	if err := yaml.Unmarshal([]byte(read(t, lintPage)), &config); err != nil {
		t.Fatal(err)
	}
	name, layers := regexp.MustCompile(`^layer-(\d)(?:-\w+)?$`), map[string]layerFiles{}
	for rule, held := range config.Linters.Settings.Depguard.Rules {
		m := name.FindStringSubmatch(rule)
		if m == nil {
			continue
		}
		layer := layers[m[1]]
		for _, glob := range held.Files {
			if left, ok := strings.CutPrefix(glob, "!**/"); ok && !strings.HasSuffix(left, "_test.go") {
				layer.out = append(layer.out, left)
			} else if taken, ok := strings.CutPrefix(glob, "**/"); ok && !strings.HasSuffix(taken, "_test.go") {
				layer.in = append(layer.in, taken)
			}
		}
		layers[m[1]] = layer
	}
	if len(layers) != 4 {
		t.Fatalf("%s has rules for %d layers: this test looks in the wrong place", lintPage, len(layers))
	}
	return layers
}
