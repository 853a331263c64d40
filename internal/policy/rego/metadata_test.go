// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"evenkeel.dev/evenkeel/internal/policy/rego"
)

const annotated = `# Copyright line
# METADATA
# title: Privileged containers
# description: |
#   Two lines
#   of text.
# organizations:
#   - platform
# related_resources:
#   - ref: https://example.com/runbook
#     description: runbook
# custom:
#   id: privileged
#   match:
#     kinds:
#       - apiGroups: [""]
#         kinds: [Pod]
#       - apiGroups: [apps]
package evenkeel.pods.privileged

import rego.v1

# METADATA
# title: a rule's own
deny contains "x" if true
`

func TestParseAnnotations(t *testing.T) {
	got, err := rego.ParseMetadata("p.rego", annotated)
	if err != nil {
		t.Fatal(err)
	}
	want := rego.Metadata{
		File: "p.rego", Row: 2, Package: "evenkeel.pods.privileged",
		Title: "Privileged containers", Description: "Two lines\nof text.\n", Organizations: []string{"platform"},
		RelatedResources: []rego.RelatedResource{{Ref: "https://example.com/runbook", Description: "runbook"}},
		Custom: map[string]any{
			"id": "privileged",
			"match": map[string]any{"kinds": []any{
				map[string]any{"apiGroups": []any{""}, "kinds": []any{"Pod"}},
				map[string]any{"apiGroups": []any{"apps"}},
			}},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(rego.Metadata{})); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	rows := map[string]int{
		"title": 3, "custom": 12, "custom/id": 13, "custom/match/kinds": 15,
		"custom/match/kinds/0": 16, "custom/match/kinds/0/kinds": 17, "custom/match/kinds/1": 18,
		"custom/match/namespaces": 14, "severity": 2,
	}
	for path, want := range rows {
		if got := got.RowOf(strings.Split(path, "/")...); got != want {
			t.Errorf("RowOf(%s) = %d, want %d", path, got, want)
		}
	}
}

func TestParseAnnotationsReadsV0(t *testing.T) {
	got, err := rego.ParseMetadata("p.rego", "# METADATA\n# title: Old\npackage old\n\ndeny[msg] { msg := \"x\" }\n")
	if err != nil || got.Title != "Old" {
		t.Errorf("title %q, error %v", got.Title, err)
	}
}

func TestParseAnnotationsRefuses(t *testing.T) {
	cases := map[string]struct{ reason, source, want string }{
		"no METADATA": {"nothing says what the policy is", "package x\n\ndeny := 1\n",
			"p.rego:1:1: the package has no METADATA"},
		"a rule's METADATA": {"the package's is asked for", "package x\n\n# METADATA\n# title: t\ndeny := 1\n",
			"has no METADATA"},
		"an unknown key": {"perhaps misspelt", "# METADATA\n# title: t\n# severity: High\npackage x\n",
			`p.rego:3:1: unknown METADATA key "severity"`},
		"an unknown key near a known one": {"what was meant", "# METADATA\n# organisations: [a]\npackage x\n",
			"did you mean organizations?"},
		"YAML that breaks in its third line": {"OPA's own row is another", "# Notes\n\n# METADATA\n# title: t\n# " +
			"description: a: b\n# custom: {id: x}\npackage x\n",
			"p.rego:5:1: METADATA isn't valid YAML: mapping values are not allowed in this context\n  help: "},
		"a bracket that isn't closed": {
			"where it opens", "# METADATA\n# title: t\n# organizations: [a\n# custom:\n#   " +
				"id: x\npackage x\n", "p.rego:3:1: METADATA isn't valid YAML"},
		"a key in no column": {"where it stands", "# METADATA\n# custom:\n#   id: x\n#  severity: High\npackage x\n",
			"p.rego:4:1: METADATA isn't valid YAML"},
		"YAML that is broken": {"it names the place", "# METADATA\n# title: t\n# custom: [\npackage x\n", "p.rego:"},
		"a key that is there twice": {"it names the second",
			"# METADATA\n# title: t\n# custom:\n#   id: a\n#   owner: o\n#   id: b\npackage x\n",
			`p.rego:6:1: METADATA isn't valid YAML: the key "id" is there twice in one map`},
		"a misspelt scope": {"in its own row, with the nearest",
			"# METADATA\n# title: t\n# scope: pakage\n# custom: {id: x}\npackage x\n",
			"p.rego:3:1: scope of METADATA: pakage isn't supported: use package, or leave it out; OPA has package, " +
				"subpackages, document, rule; did you mean package?"},
		"a misspelt scope of a rule": {"in its own row",
			"# METADATA\n# title: t\npackage x\n\n# METADATA\n# scope: ruel\ndeny := 1\n",
			"p.rego:6:1: scope of METADATA: ruel isn't supported"},
		"a scope that isn't the package's": {"the policy has no METADATA then",
			"# METADATA\n# scope: subpackages\n# title: t\npackage x\n",
			"p.rego:2:1: scope of METADATA: it is subpackages"},
		"a title that is a map": {"a colon without quotes",
			"# METADATA\n# title: {a: b}\npackage x\n", "p.rego:2:1: title of METADATA: it must be a text"},
		"an owner that is no list": {"people forget the dash",
			"# METADATA\n# title: t\n# organizations: me\npackage x\n",
			"p.rego:3:1: organizations of METADATA: it must be a list of names"},
		"a link without ref": {"it is misspelt", "# METADATA\n# related_resources:\n#   - reff: x\npackage x\n",
			"p.rego:2:1: related_resources of METADATA: an entry has no ref"},
		"a link that is no URL": {"it names it", "# METADATA\n# related_resources: [\"::x\"]\npackage x\n",
			"p.rego:2:1: related_resources of METADATA: ::x is no URL"},
		"custom that is no map": {"it names what it holds", "# METADATA\n# title: t\n# custom: [id]\npackage x\n",
			"p.rego:3:1: custom of METADATA: it must be a map"},
		"Rego that is broken": {"it names the place", "# METADATA\n# title: t\npackage x\n\ndeny }\n", "p.rego:5:"},
		"an empty file":       {"there's no package", "", "empty"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := rego.ParseMetadata("p.rego", tc.source)
			var refused *rego.CompileError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: error %v, want a compile.Error with %q", tc.reason, err, tc.want)
			}
		})
	}
}
