// SPDX-License-Identifier: Apache-2.0

package gatekeeper_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
)

// TestAPolicyIsAskedOnItsTemplatesOperations has templates whose targets name operations: Gatekeeper's webhook evaluates
// them on those alone, and its audit in any case.
func TestAPolicyIsAskedOnItsTemplatesOperations(t *testing.T) {
	const create, remove, connect = v1alpha1.OperationCreate, v1alpha1.OperationDelete, v1alpha1.OperationConnect
	type ops = []v1alpha1.Operation
	const pods, execs = `{kinds: [{apiGroups: [""], kinds: [Pod]}]}`, `{kinds: [{apiGroups: [""], kinds: [PodExecOptions]}]}`
	all := asking(`{apiGroups: ["*"], resources: ["*", pods/exec], operations: ["*"]}`)
	some := asking(`{apiGroups: ["*"], resources: ["*", pods/exec], operations: [CREATE, UPDATE]}`)
	others := asking(`{apiGroups: [apps], resources: [deployments], operations: ["*"]}`)
	for name, tc := range map[string]struct {
		webhook, operations, match string
		want                       ops
		refused                    string
	}{
		"deletions alone":       {webhook: all, operations: `["DELETE"]`, match: pods, want: ops{remove}},
		"creations alone":       {webhook: all, operations: `["CREATE"]`, match: pods, want: ops{create}},
		"creations by default":  {operations: `["CREATE"]`, match: pods, want: ops{create}},
		"none, which are all":   {webhook: some, operations: `[]`, match: pods},
		"of what isn't asked":   {webhook: others, operations: `["CREATE", "UPDATE"]`, match: pods},
		"the usual ones":        {webhook: all, operations: `["CREATE", "UPDATE"]`, match: pods},
		"one that is asked":     {webhook: some, operations: `["CREATE", "DELETE"]`, match: pods, want: ops{create}},
		"all of them":           {webhook: some, operations: `["DELETE", "*"]`, match: pods},
		"connections":           {webhook: all, operations: `["CONNECT"]`, match: execs, want: ops{connect}},
		"none that is asked":    {webhook: some, operations: `["DELETE"]`, match: pods, refused: "evaluated on DELETE alone, about which Gatekeeper's webhook isn't asked, so that nothing is refused by it"},
		"none by default":       {operations: `["DELETE", "CONNECT"]`, match: pods, refused: "evaluated on DELETE, CONNECT alone, about which Gatekeeper's webhook isn't asked, so that nothing is refused by it: where yours is asked, give its ValidatingWebhookConfiguration"},
		"none for a connection": {webhook: all, operations: `["CREATE"]`, match: execs, refused: "PodExecOptions on pods/exec is left out"},
	} {
		t.Run(name, func(t *testing.T) {
			text := tc.webhook + strings.Replace(bearing(tc.match), "    rego: |\n",
				"    operations: "+tc.operations+"\n    rego: |\n", 1)
			item := last(migrated(t, text))
			if tc.refused != "" {
				if item.Policy != nil || !item.Unjudged {
					t.Fatalf("policy %+v, want none", item.Policy)
				}
				wantNotes(t, &item, tc.refused)
				return
			}
			if item.Policy == nil {
				t.Fatalf("no policy: %q", item.Notes)
			}
			if diff := cmp.Diff(tc.want, item.Policy.Spec.Admission.Operations); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
			inMemory := func(text string) ops {
				item := last(gatekeeper.Migrate(documents(t, text), gatekeeper.Options{InMemory: true}))
				return item.Policy.Spec.Admission.Operations
			}
			if diff := cmp.Diff(inMemory(tc.webhook+bearing(tc.match)), inMemory(text)); diff != "" {
				t.Errorf("in memory, as in an audit (-without +with operations):\n%s", diff)
			}
		})
	}
}

func last(items []gatekeeper.Item) gatekeeper.Item { return items[len(items)-1] }

// TestAPolicyOfOtherOperationsIsMadeOfAnotherTemplate has what a policy was made of change with them.
func TestAPolicyOfOtherOperationsIsMadeOfAnotherTemplate(t *testing.T) {
	webhook := asking(`{apiGroups: ["*"], resources: ["*"], operations: ["*"]}`)
	inputs := func(operations string) any {
		read := documents(t, webhook+strings.Replace(bearing(`{kinds: [{apiGroups: [""], kinds: [Pod]}]}`),
			"    rego: |\n", operations+"    rego: |\n", 1))
		return gatekeeper.NewEstate(read, gatekeeper.Options{}).Inputs(read[2].Object, read[1].Object)["operations"]
	}
	narrowed := inputs("    operations: [DELETE]\n")
	if diff := cmp.Diff([]v1alpha1.Operation{v1alpha1.OperationDelete}, narrowed); diff != "" {
		t.Error(diff)
	}
	if got := inputs(""); cmp.Equal(got, narrowed) {
		t.Errorf("without operations: %v", got)
	}
}

// TestATemplateSaysThatGatekeeperEvaluatesItsCEL has CEL beside the Rego.
func TestATemplateSaysThatGatekeeperEvaluatesItsCEL(t *testing.T) {
	const cel = "    - engine: K8sNativeValidation\n      source: {validations: [{expression: \"true\"}]}\n"
	const code, inRego = "    code:\n", "    - engine: Rego\n"
	for name, text := range map[string]string{
		"before":               strings.Replace(noNodePort, code, code+cel, 1),
		"after":                strings.Replace(noNodePort, "---\n", cel+"---\n", 1),
		"beside the old field": strings.Replace(mustBear, "    rego: |\n", code+cel+"    rego: |\n", 1) + bearOwner,
	} {
		t.Run(name, func(t *testing.T) {
			items := migrated(t, text)
			if items[0].Template == nil || items[1].Policy == nil {
				t.Fatalf("items %+v", items)
			}
			wantNotes(t, &items[0], "it has CEL (K8sNativeValidation) beside its Rego, and Gatekeeper evaluates the")
		})
	}
	t.Run("and none of a template in Rego alone", func(t *testing.T) {
		if !strings.Contains(noNodePort, inRego) {
			t.Fatal("it isn't in Rego")
		}
		items := migrated(t, noNodePort)
		wantNotes(t, &items[0], "")
	})
}

// TestALegacySchemaKeepsWhatItDoesntName has parameters with a field that the schema of their object hasn't: the API
// server keeps it where the schema is a legacy one, as those of versions before v1 are unless they say otherwise.
func TestALegacySchemaKeepsWhatItDoesntName(t *testing.T) {
	const v1, beta, alpha = "gatekeeper.sh/v1\n", "gatekeeper.sh/v1beta1\n", "gatekeeper.sh/v1alpha1\n"
	for name, tc := range map[string]struct {
		version, legacy string
		kept            bool
	}{
		"by default in v1":         {version: v1},
		"by default in v1beta1":    {version: beta, kept: true},
		"by default in v1alpha1":   {version: alpha, kept: true},
		"as it says in v1":         {version: v1, legacy: "        legacySchema: true\n", kept: true},
		"unless it says otherwise": {version: beta, legacy: "        legacySchema: false\n"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(mustBear, v1, tc.version, 1) + bearOwner
			text = strings.Replace(text, "      validation:\n", "      validation:\n"+tc.legacy, 1)
			text = strings.Replace(text, "            word:", "            each: {type: array, items: {type: object, "+
				"properties: {key: {type: string}}}}\n            any: {type: array}\n            word:", 1)
			text = strings.Replace(text, "{keys: [owner]}",
				"{keys: [owner], each: [{key: a, regex: b}], any: [{c: d}]}", 1)
			items := migrated(t, text)
			if items[1].Policy == nil {
				t.Fatalf("no policy: %q", items[1].Notes)
			}
			got := string(items[1].Policy.Spec.Parameters.Raw)
			if kept := strings.Contains(got, `"regex":"b"`); kept != tc.kept {
				t.Errorf("parameters are %s, want the field kept: %t; notes %q", got, tc.kept, items[1].Notes)
			}
			if told := strings.Contains(strings.Join(items[1].Notes, "\n"), "each[0].regex"); told == tc.kept {
				t.Errorf("notes are %q", items[1].Notes)
			}
			if _, err := rules(t, items)["mustbear"].Policy(items[1].Policy); err != nil {
				t.Errorf("admission refuses it: %v", err)
			}
		})
	}
}
