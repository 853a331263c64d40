// SPDX-License-Identifier: Apache-2.0

package format_test

import (
	"strings"
	"testing"
	"unicode"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/check/format"
	"evenkeel.dev/evenkeel/internal/policy"
)

// What a manifest calls itself begins no line of the report, which a CI system may take for a command, turns no
// terminal's colors, and is one word to xargs.
func TestAnObjectsNameWritesNothingElse(t *testing.T) {
	object := map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{
		"name": "a\n::error::x##[error]y\x1b[31m 'namespace/kube-system'", "namespace": "shop\n::stop-commands::y",
		"labels": map[string]any{"app.kubernetes.io/part-of": "team\n::error::z"}}}
	definition := &v1alpha1.ClusterRegoPolicy{}
	definition.Name, definition.Spec.Severity = "p", v1alpha1.SeverityHigh
	definition.Spec.RunbookURL = "https://x/\x1b##[error]y"
	report := &check.Report{Objects: 1, Policies: 1, Results: []check.Result{{Subject: check.Subject{Object: object},
		Policy: definition, Violations: []policy.Violation{{Message: "m \u009b##[error]n\n::error::o"}},
		Fix: " ::error::p\n"}}}
	for name, opts := range map[string]format.Options{"table": {GroupBy: format.Groups()}, "name": {}, "github": {},
		"json": {}, "yaml": {}, "junit": {}, "sarif": {}} {
		var out strings.Builder
		if err := format.Write(&out, name, report, opts); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(strings.TrimSpace(line), "::") &&
				!strings.HasPrefix(line, "::error title=p (High)::") {
				t.Errorf("%s has a line that the object has written: %q", name, line)
			}
			if strings.Contains(line, "##[") {
				t.Errorf("%s has a command in a line: %q", name, line)
			}
			if strings.ContainsFunc(strings.TrimLeft(line, "\t"), unicode.IsControl) {
				t.Errorf("%s has control characters: %q", name, line)
			}
			if name == "name" && strings.ContainsAny(line, ` '"\`) {
				t.Errorf("%s is more than one word: %q", name, line)
			}
		}
	}
}
