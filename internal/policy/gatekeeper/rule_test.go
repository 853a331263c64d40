// SPDX-License-Identifier: Apache-2.0

package gatekeeper_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
)

// TestOneRegoTemplateAConstraintTemplateAndNoRegoTwice migrates three constraints of one
// template and one of another.
func TestOneRegoTemplateAConstraintTemplateAndNoRegoTwice(t *testing.T) {
	items := migrated(t, mustBear+bearOwner+strings.Replace(bearOwner, "bear-owner", "bear-team", 1)+
		strings.Replace(bearOwner, "bear-owner", "bear-cost", 1)+noNodePort)
	of, sources := map[string][]string{}, map[string]int{}
	for _, item := range items {
		switch {
		case item.State != gatekeeper.Migrated:
			t.Errorf("%s: %s %q", item.Object, item.State, item.Notes)
		case item.Template != nil:
			of[item.Template.Name] = append(of[item.Template.Name], "")
			for _, module := range item.Template.Spec.Rego.Modules() {
				sources[module.Source]++
			}
		default:
			if item.Policy.Spec.Rego.Main != "" {
				t.Errorf("policy %s has Rego of its own", item.Policy.Name)
			}
			name := item.Policy.Spec.TemplateRef.Name
			of[name] = append(of[name], item.Policy.Name)
		}
	}
	want := map[string][]string{"mustbear": {"", "bear-owner", "bear-team", "bear-cost"},
		"nonodeport": {"", "no-node-port"}}
	if diff := cmp.Diff(want, of); diff != "" {
		t.Errorf("each template, and the policies that name it (-want +got):\n%s", diff)
	}
	for source, times := range sources {
		if times > 1 {
			t.Errorf("%d times:\n%s", times, source)
		}
	}
}

// TestTheSchemaOfATemplateIsTakenOver migrates one template and one constraint of it, with a
// schema and parameters of each sort that there is in the field.
func TestTheSchemaOfATemplateIsTakenOver(t *testing.T) {
	const object = "{apiVersion: v1, kind: Service, metadata: {name: a, namespace: shop}}"
	const given = `        openAPIV3Schema:
          type: object
          properties:
            keys: {type: array, items: {type: string}}
            word: {type: string, default: annotation}
`
	schema := func(lines ...string) string {
		text := "        openAPIV3Schema:\n"
		for _, line := range lines {
			text += "          " + line + "\n"
		}
		return text
	}
	cases := map[string]struct {
		schema, parameters string
		// wantSchema and want are in JSON; notes are contained, in order.
		wantSchema, want string
		notes            []string
		says             string
	}{
		"a structural schema stays, and gives the defaults": {schema: given, parameters: "{keys: [owner]}",
			wantSchema: `{"type":"object","properties":{"keys":{"type":"array","items":{"type":"string"}},"word":{"type":"string","default":"annotation"}}}`,
			want:       `{"keys":["owner"]}`, says: `annotation {"owner"} is missing`},
		"what the API server drops is left out": {schema: given, parameters: "{keys: [owner], kys: [a]}",
			wantSchema: `{"type":"object","properties":{"keys":{"type":"array","items":{"type":"string"}},"word":{"type":"string","default":"annotation"}}}`,
			want:       `{"keys":["owner"]}`, says: `annotation {"owner"} is missing`,
			notes: []string{"no parameters kys"}},
		"a legacy schema lets in whatever stands where it says no type": {
			schema:     "        legacySchema: true\n" + schema("properties:", "  keys: {items: {type: string}}"),
			parameters: "{keys: [owner], word: label}",
			wantSchema: `{"type":"object","properties":{"keys":{"items":{"type":"string"},"x-kubernetes-preserve-unknown-fields":true}},"x-kubernetes-preserve-unknown-fields":true}`,
			want:       `{"keys":["owner"],"word":"label"}`, says: `label {"owner"} is missing`},
		"expressions can't stay: any parameters are let in, and the defaults are written out": {
			schema:     given + `          x-kubernetes-validations: [{rule: "true"}]` + "\n",
			parameters: "{keys: [owner]}",
			want:       `{"keys":["owner"],"word":"annotation"}`, says: `annotation {"owner"} is missing`,
			notes: []string{"x-kubernetes-validations can't be used"}},
		"patterns can't stay either": {
			schema: strings.Replace(given, "{type: string, default", `{type: string, pattern: "^[a-z]+$", default`,
				1),
			parameters: "{keys: [owner]}",
			want:       `{"keys":["owner"],"word":"annotation"}`, says: `annotation {"owner"} is missing`,
			notes: []string{"pattern can't be used"}},
		"without a schema any parameters are let in": {
			parameters: "{keys: [owner], word: note}", want: `{"keys":["owner"],"word":"note"}`,
			says: `note {"owner"} is missing`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			validation := "validation:\n" + given
			replaced := "validation:\n" + tc.schema
			if tc.schema == "" {
				replaced = "unused: none\n"
			}
			items := migrated(t, strings.Replace(mustBear, validation, replaced, 1)+
				strings.Replace(bearOwner, "{keys: [owner]}", tc.parameters, 1))
			if len(items) != 2 || items[0].Template == nil || items[1].Policy == nil {
				t.Fatalf("items %+v", items)
			}
			had := ""
			if s := items[0].Template.Spec.ParameterSchema; s != nil {
				had = string(s.OpenAPIV3Schema.Raw)
			}
			if diff := cmp.Diff([]string{tc.wantSchema, tc.want},
				[]string{had, string(items[1].Policy.Spec.Parameters.Raw)}); diff != "" {
				t.Errorf("schema and parameters (-want +got):\n%s", diff)
			}
			notes := append(items[0].Notes, items[1].Notes...)
			for i, want := range tc.notes {
				if len(notes) != len(tc.notes) || !strings.Contains(notes[i], want) {
					t.Errorf("notes %q, want %q", notes, tc.notes)
				}
			}
			if got := fmt.Sprint(verdict(t, rules(t, items), items[1].Policy, object)); got != "["+tc.says+"]" {
				t.Errorf("verdict %s, want %s", got, tc.says)
			}
		})
	}
	t.Run("parameters that don't fit it need work", func(t *testing.T) {
		items := migrated(t, mustBear+strings.Replace(bearOwner, "{keys: [owner]}", "{keys: owner}", 1))
		if items[1].State != gatekeeper.NeedsWork ||
			!strings.Contains(strings.Join(items[1].Notes, ""), "spec.parameters.keys: Invalid value") {
			t.Errorf("%s: %q", items[1].State, items[1].Notes)
		}
	})
}
