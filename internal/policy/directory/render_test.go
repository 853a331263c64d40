// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/directory"
)

func TestRenderedPoliciesReadBackTheSame(t *testing.T) {
	texts := map[string]string{
		"plain":              goodHead + goodBody,
		"tabs and blanks":    goodHead + goodBody + "\nwarn contains msg if {\n\tmsg := \"tab\\t\"  \n}\n",
		"no newline at end":  strings.TrimSuffix(goodHead+goodBody, "\n"),
		"a blank line first": "\n\n" + goodHead + goodBody,
	}
	for name, rego := range texts {
		t.Run(name, func(t *testing.T) {
			loaded, err := directory.Load(tree(map[string]string{"hats/hats.rego": rego}), ".")
			if err != nil {
				t.Fatal(err)
			}
			loaded[0].Status.Revision = "never printed"
			text, err := directory.Render(loaded)
			if err != nil {
				t.Fatal(err)
			}
			var got v1alpha1.ClusterRegoPolicy
			if err := yaml.UnmarshalStrict(text, &got); err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			loaded[0].Status = v1alpha1.RegoPolicyStatus{}
			if diff := cmp.Diff(loaded[0], &got); diff != "" {
				t.Errorf("policy (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRenderIsTheSameEachTime(t *testing.T) {
	fsys := tree(map[string]string{
		"hats/hats.rego": goodHead + goodBody,
		"caps/caps.rego": strings.NewReplacer("no-hats", "no-caps", "a.hats", "a.caps").Replace(goodHead + goodBody),
	})
	var outputs [][]byte
	for range 2 {
		loaded, err := directory.Load(fsys, ".")
		if err != nil {
			t.Fatal(err)
		}
		text, err := directory.Render(loaded)
		if err != nil {
			t.Fatal(err)
		}
		outputs = append(outputs, text)
	}
	if !bytes.Equal(outputs[0], outputs[1]) {
		t.Error("two renderings of the same files differ")
	}
	first, second := strings.Index(string(outputs[0]), "name: no-caps"),
		strings.Index(string(outputs[0]), "name: no-hats")
	if first < 0 || second < first || strings.Count(string(outputs[0]), "\n---\n") != 1 {
		t.Errorf("want two documents sorted by name, got\n%s", outputs[0])
	}
}

func TestOpenFindsTheLibraryAboveADirectory(t *testing.T) {
	top := t.TempDir()
	for _, dir := range []string{"repo/.git", "repo/policies/lib", "repo/policies/wear/hats", "repo/other"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	library := filepath.Join(top, "repo/policies/lib/one.rego")
	if err := os.WriteFile(library, []byte("package lib.one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		reason, dir, top, root string
	}{
		"a policy below": {"the library two levels up", "repo/policies/wear/hats", "repo/policies", "wear/hats"},
		"the top itself": {"the library beside the policies", "repo/policies", "repo/policies", "."},
		"no library": {"a directory without one keeps its name, and the search ends at the repository",
			"repo/other", "repo", "other"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := directory.Open(filepath.Join(top, tc.dir))
			if err != nil {
				t.Fatal(err)
			}
			if got.Top != filepath.Join(top, tc.top) || got.Root != tc.root {
				t.Errorf("%s: top %s, root %s, want %s and %s", tc.reason, got.Top, got.Root, tc.top, tc.root)
			}
		})
	}
	for name, dir := range map[string]string{"a file": library, "nothing": filepath.Join(top, "nowhere")} {
		if _, err := directory.Open(dir); err == nil {
			t.Errorf("%s is opened as a directory", name)
		}
	}
}
