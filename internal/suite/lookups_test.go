// SPDX-License-Identifier: Apache-2.0

package suite_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"evenkeel.dev/evenkeel/internal/suite"
)

const (
	lookupRego = `# METADATA
# scope: package
# title: Services have a ConfigMap
# organizations: [a]
# related_resources: [{ref: "https://example.com"}]
# custom:
#   id: looks
#   severity: Low
#   match:
#     kinds: [{apiGroups: [""], kinds: [Service]}]
#     references: [{kind: ConfigMap}, {kind: Service}]
#   remediation: {mode: Manual, allowedActions: [Create, Patch]}
package looks

import rego.v1

`
	lookupExample = `- name: good
  object: {apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {type: ClusterIP}}
  inventory: [{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}}]
- name: bad
  object: {apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {type: NodePort}}
  inventory: [{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {type: NodePort}}]
  expect: {violations: [bad]}
  fixed: true
`
	missesConfigMap = `missing if not data.inventory.namespace[input.object.metadata.namespace].v1.ConfigMap.settings
deny contains "bad" if missing
`
	createsSettings = `remediation contains {"action": "create", "object": {"apiVersion": "v1", "kind": "ConfigMap",
	"metadata": {"name": "settings"}}}
`
	// opens finds NodePorts among all Services, the object itself included.
	opens = `deny contains "bad" if data.inventory.namespace[_].v1.Service.web.spec.type == "NodePort"
remediation contains {"action": "patch", "ops": [{"op": "replace", "path": "/spec/type", "value": "ClusterIP"}]}
`
)

// TestFixesAreProvenByWhatRulesLookUp has fixes that create what the rules miss, and change what they look up.
func TestFixesAreProvenByWhatRulesLookUp(t *testing.T) {
	other := strings.NewReplacer("looks", "others").Replace(lookupRego) +
		`deny contains "settings" if data.inventory.namespace[_].v1.ConfigMap.settings` + "\n"
	for name, tc := range map[string]struct {
		rules, other, want string
	}{
		"a create of what the rules miss": {missesConfigMap + createsSettings, "", ""},
		"a create of something else": {missesConfigMap + strings.Replace(createsSettings, "settings", "x", 1), "",
			"expected: a fix that resolves the violation"},
		"the object itself, looked up": {opens, "", ""},
		"a create that another policy finds fault with": {missesConfigMap + createsSettings, other,
			"the fixed object violates policy others: settings"},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{
				"looks/looks.rego":    {Data: []byte(lookupRego + tc.rules)},
				"looks/examples.yaml": {Data: []byte(lookupExample)},
			}
			if tc.other != "" {
				files["others/others.rego"] = &fstest.MapFile{Data: []byte(tc.other)}
			}
			report, err := suite.Run(t.Context(), files, ".", suite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var told strings.Builder
			for _, failure := range report.Failures {
				if failure.File == "looks/examples.yaml" {
					told.WriteString(failure.String() + "\n")
				}
			}
			if got := told.String(); tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("it says\n%s\nwant %q; all is %v", got, tc.want, report.Failures)
			}
		})
	}
}
