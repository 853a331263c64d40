// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/directory"
)

// TestDecodeTellsEveryMisfitByItsPath: whoever corrects one at a time needs as many rounds.
func TestDecodeTellsEveryMisfitByItsPath(t *testing.T) {
	tests := map[string]struct {
		reason, text string
		want         []string
	}{
		"nothing is wrong": {"there is nothing to tell", "spec: {title: t}", nil},
		"fields that are unknown": {"with those beside them that are nearest",
			"spec: {titel: t, match: {kinds: [{kindz: [Pod]}]}, wholly: other}", []string{
				"unknown field spec.match.kinds[0].kindz: remove it, or correct its spelling; did you mean " +
					"spec.match.kinds[0].kinds?",
				"unknown field spec.titel: remove it, or correct its spelling; did you mean spec.title?",
				"unknown field spec.wholly: remove it, or correct its spelling"}},
		"fields that have another name now": {"once each, whatever is below them",
			"spec: {match: {resources: [{apiGroups: [a], kinds: [B]}], exemptUsers: [c]}, failurePolicy: Fail}",
			[]string{
				"unknown field spec.failurePolicy: it is now spec.admission.failurePolicy",
				"unknown field spec.match.exemptUsers: it is now spec.admission.exempt.users",
				"unknown field spec.match.resources: it is now spec.match.kinds"}},
		"values of wrong types": {"all of them, in the words of YAML",
			"spec: {title: 3, match: {kinds: {}}, remediation: {strategyRef: [soon]}, severity: [High]}",
			[]string{
				"spec.match.kinds: it is a map of keys, and must be a list",
				`spec.remediation.strategyRef: it is a list, and must be a map of keys`,
				"spec.severity: it is a list, and must be a text",
				"spec.title: it is a number, and must be a text"}},
		"both": {"one hides the other from the decoder", "spec: {titel: t, severity: 3}", []string{
			"unknown field spec.titel: remove it, or correct its spelling; did you mean spec.title?",
			"spec.severity: it is a number, and must be a text"}},
		"a key that begins a line": {"a manifest mustn't write lines of its own in a log",
			`spec: {match: {namespaceSelector: {matchLabels: {"x\n::stop-commands::tok": 5}}}}`, []string{
				"spec.match.namespaceSelector.matchLabels.x ::stop-commands::tok: it is a number, and must be a text"}},
		"no map at all": {"it is the whole", "[a]", []string{"it is a list, and must be a map of keys"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var value any
			if err := yaml.Unmarshal([]byte(tt.text), &value); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, misfit := range directory.Decode(value, &v1alpha1.ClusterRegoPolicy{}) {
				got = append(got, misfit.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}
