// SPDX-License-Identifier: Apache-2.0

package suite_test

import (
	"strings"
	"testing"
)

// Each verb is proved on examples by the same plan that remediation makes.
func TestFixesOfEveryVerbAreProved(t *testing.T) {
	const (
		patch    = `{"action": "patch", "ops": [{"op": "remove", "path": "/data/hat"}]}`
		manifest = `fixed: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}, data: {size: "7"}}`
	)
	allow := func(verbs string) []string {
		return []string{"excludedNamespaces: [attic]",
			"excludedNamespaces: [attic]\n#   remediation: {allowedActions: [" + verbs + "]}"}
	}
	tests := map[string]struct {
		reason  string
		changes []string
		want    []string // parts of the one failure; none for a pass
	}{
		"an object that is deleted complies": {
			"what is gone violates nothing",
			append(allow("Delete"), patch, `{"action": "delete"}`, manifest, "fixed: true"), nil,
		},
		"an object that is deleted has no manifest": {
			"the example says what can't be", append(allow("Delete"), patch, `{"action": "delete"}`),
			[]string{"the fix removes it (say fixed: true)"},
		},
		"an action that the strategy doesn't allow": {
			"it would fail in the cluster", []string{patch, `{"action": "delete"}`, manifest, "fixed: true"},
			[]string{`it uses "delete": add Delete to them`},
		},
		"an action that the kind can't take": {
			"it would fail in the cluster",
			append(allow("Restart"), patch, `{"action": "restart"}`, manifest, "fixed: true"),
			[]string{"a fix that can be applied", "no pod template"},
		},
		"a creation that changes nothing of the object": {
			"the rule doesn't see what was made", append(allow("Create"), patch,
				`{"action": "create", "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}}`,
				manifest, "fixed: true"),
			[]string{"a fix that resolves the violation"},
		},
		"a creation with a patch": {
			"the patch resolves", append(allow("Create, Patch"), "if not input.object.data.scarf\n",
				"if not input.object.data.scarf\n\nremediation contains {\"action\": \"create\", \"object\": "+
					"{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"x\"}}} if true\n",
				"count(hats.remediation) == 1", "count(hats.remediation) == 2"), nil,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			report := run(t, hats(tc.changes...), ".")
			if len(tc.want) == 0 {
				for _, failure := range report.Failures {
					t.Errorf("%s: %s", tc.reason, failure)
				}
				return
			}
			if len(report.Failures) != 1 {
				t.Fatalf("%s: %d failures, want one: %v", tc.reason, len(report.Failures), report.Failures)
			}
			for _, part := range tc.want {
				if got := report.Failures[0].String(); !strings.Contains(got, part) {
					t.Errorf("%s: the failure is\n%s\nwant it to hold %q", tc.reason, got, part)
				}
			}
		})
	}
}
