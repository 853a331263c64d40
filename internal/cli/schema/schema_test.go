// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/cli/schema"
	"evenkeel.dev/evenkeel/internal/manifest"
)

const policyHead = "apiVersion: evenkeel.dev/v1alpha1\nkind: ClusterRegoPolicy\n"

const policySpec = `  title: T
  rego: {main: package p}
  match: {kinds: [{apiGroups: [""], kinds: [Pod]}]}
`

// TestCheckTakesWhatTheAPIServerTakes lists what a real API server, v1.36, took and refused of each.
func TestCheckTakesWhatTheAPIServerTakes(t *testing.T) {
	const waiver = "apiVersion: evenkeel.dev/v1alpha1\nkind: Waiver\n"
	cases := map[string]struct {
		reason string
		text   string
		want   string
	}{
		"a policy": {"as written", policyHead + "metadata: {name: p}\nspec:\n" + policySpec, ""},
		"a generated name": {"the server makes one",
			policyHead + "metadata: {generateName: p-}\nspec:\n" + policySpec, ""},
		"empty values": {"Helm leaves them, and the server takes them for absent",
			policyHead + "metadata: {name: p}\nspec:\n" + policySpec +
				"  owner:\n  severity: null\n  parameters: null\n  admission: {action: null}\n", ""},
		"a status": {"the server drops it", waiver + "metadata: {name: w, namespace: a}\n" +
			"spec: {policies: [p], reason: r, expirationTime: 2999-01-01T00:00:00Z, " +
			"match: {kinds: [{kinds: [Pod]}]}}\n" +
			"status: {conditions: [{type: A}]}\n", ""},
		"another's kind": {"it isn't Evenkeel's", "apiVersion: v1\nkind: Pod\nmetadata: {name: A_B}\nspec: 1\n", ""},
		"an unknown kind": {"a version that isn't this one may have it",
			"apiVersion: evenkeel.dev/v1alpha1\nkind: Unheard\nmetadata: {name: a}\n", ""},
		"a misspelt value": {"no such action", policyHead + "metadata: {name: p}\nspec:\n" + policySpec +
			"  admission: {action: Dney}\n", `spec.admission.action: Unsupported value: "Dney"`},
		"a rule in CEL": {"who refuses names an owner", policyHead + "metadata: {name: p}\nspec:\n" + policySpec +
			"  admission: {action: Deny}\n", "owner is required once admission.action is Deny"},
		"twice in a set": {"the list is one", waiver + "metadata: {name: w, namespace: a}\n" +
			"spec: {policies: [p, p], reason: r, expirationTime: 2999-01-01T00:00:00Z, " +
			"match: {kinds: [{kinds: [Pod]}]}}\n",
			`spec.policies[1]: Duplicate value: "p"`},
		"a name that none has": {"it isn't DNS", policyHead + "metadata: {name: A_B}\nspec:\n" + policySpec,
			`metadata.name: Invalid value: "A_B"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := refusal(t, &schema.Checker{}, tc.text)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestCheckTakesTheSamples(t *testing.T) {
	files, err := filepath.Glob("../../../config/samples/*_*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("samples: %v, %v", files, err)
	}
	var checker schema.Checker
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := refusal(t, &checker, string(text)); got != "" {
			t.Errorf("%s: %s", file, got)
		}
	}
}

// refusal is what is said of the objects of a text; empty for nothing.
func refusal(t *testing.T, checker *schema.Checker, text string) string {
	t.Helper()
	documents, err := manifest.Read(t.Context(), []string{"-"}, strings.NewReader(text), manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, d := range documents {
		wrong, err := checker.Check(t.Context(), d.Object)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range wrong {
			said = append(said, w.Error())
		}
	}
	return strings.Join(said, "\n")
}
