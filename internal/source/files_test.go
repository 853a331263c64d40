// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// rego is a policy's text.
func rego(id string) string {
	return strings.ReplaceAll(`# METADATA
# title: No hats
# organizations: [team]
# related_resources: [{ref: https://example.com/hats}]
# custom:
#   id: ID
#   severity: Low
#   match:
#     kinds: [{apiGroups: [""], kinds: [Pod]}]
package rules

import rego.v1

deny contains "hat" if data.lib.heads.covered
`, "ID", id)
}

const library = "package lib.heads\n\nimport rego.v1\n\ncovered if input.object.spec.hat\n"

func repository(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for file, text := range files {
		fsys[file] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func TestLoadFindsThePolicies(t *testing.T) {
	files := repository(map[string]string{
		"README.md":                            "a repository",
		"docs/page.md":                         "no Rego here",
		"rules/lib/heads.rego":                 library,
		"rules/lib/heads_test.rego":            "package lib.heads_test\n",
		"rules/security/hats/hats.rego":        rego("hats"),
		"rules/security/hats/hats_test.rego":   "package rules_test\n",
		"rules/security/caps/caps.rego":        rego("caps"),
		"rules/experimental/wigs/wigs.rego":    rego("wigs"),
		"rules/security/notes/why.md":          "a page",
		"other/.hidden/nothing/here/file.rego": "not Rego at all",
		"other/text.md":                        "no Rego here",
	})
	tests := map[string]struct {
		reason string
		spec   v1alpha1.PolicySourceSpec
		want   []string
	}{
		"a directory, without pages": {
			reason: "include leaves nothing of a directory that holds none, so that it isn't there",
			spec:   v1alpha1.PolicySourceSpec{Path: "rules", Include: []string{"**/*.rego"}},
			want:   []string{"caps rules/security/caps", "hats rules/security/hats", "wigs rules/experimental/wigs"}},
		"some of it": {
			reason: "the library is read whatever include says",
			spec: v1alpha1.PolicySourceSpec{Path: "rules", Include: []string{"security/*/*.rego"},
				Exclude: []string{"**/caps/**"}},
			want: []string{"hats rules/security/hats"}},
		"one directory below the library": {
			reason: "the library above is found, and the path is the repository's",
			spec: v1alpha1.PolicySourceSpec{Path: "rules/security", Exclude: []string{"notes"},
				Include: []string{"hats/**"}},
			want: []string{"hats rules/security/hats"}},
		"a directory without Rego": {
			reason: "hidden directories don't count, and none isn't an error of the files",
			spec:   v1alpha1.PolicySourceSpec{Path: "other"}},
		"a directory that isn't there": {
			reason: "Git keeps no empty directories",
			spec:   v1alpha1.PolicySourceSpec{Path: "gone"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			located, _, err := load(t.Context(), files, &tc.spec)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range located {
				got = append(got, p.Definition.Name+" "+p.Dir)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestLoadNamesFileAndLine(t *testing.T) {
	big := strings.Repeat("# a long comment\n", maxModuleBytes/17+1)
	tests := map[string]struct {
		reason        string
		files         map[string]string
		spec          v1alpha1.PolicySourceSpec
		failure, says string
	}{
		"a broken rule": {"the path is the repository's, not that of the tree below",
			map[string]string{"rules/lib/heads.rego": library,
				"rules/a/hats/hats.rego": rego("hats") + "\ndeny contains x if nobody\n"},
			v1alpha1.PolicySourceSpec{Path: "rules/a"}, v1alpha1.ReasonNotCompiling, "rules/a/hats/hats.rego:16: "},
		"a module that no Policy can hold": {"it is refused before it is read",
			map[string]string{"hats/hats.rego": rego("hats"), "hats/more.rego": big},
			v1alpha1.PolicySourceSpec{}, v1alpha1.ReasonTooLarge, "hats/more.rego: the file has"},
		"a glob that isn't one": {"the field is named",
			map[string]string{"hats/hats.rego": rego("hats")},
			v1alpha1.PolicySourceSpec{Include: []string{"*"}, Exclude: []string{"ok", "[a"}},
			v1alpha1.ReasonNotCompiling, `spec.exclude[1]: "[a" isn't a glob`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, err := load(t.Context(), repository(tc.files), &tc.spec)
			var failed *failure
			if !errors.As(err, &failed) {
				t.Fatalf("%s: got %v", tc.reason, err)
			}
			if failed.reason != tc.failure || !strings.HasPrefix(failed.message, tc.says) || !failed.stalled ||
				len(failed.problems) == 0 {
				t.Errorf("%s: got %s: %s (%v)", tc.reason, failed.reason, failed.message, failed.problems)
			}
		})
	}
}
