// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"reflect"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// TestTheRuleNamesEveryFieldOfAStrategy: a field that the rule forgets could stand beside
// strategyRef, and nobody would follow it.
func TestTheRuleNamesEveryFieldOfAStrategy(t *testing.T) {
	rule := ""
	visit(t, func(path string, schema apiextensionsv1.JSONSchemaProps) {
		if path != "ClusterRegoPolicy.spec.remediation" {
			return
		}
		for _, r := range schema.XValidations {
			if strings.Contains(r.Rule, "has(self.strategyRef)") {
				rule = r.Rule
			}
		}
	})
	if rule == "" {
		t.Fatal("there is no such rule")
	}
	spec := reflect.TypeFor[v1alpha1.RemediationStrategySpec]()
	for i := range spec.NumField() {
		name, _, _ := strings.Cut(spec.Field(i).Tag.Get("json"), ",")
		if !strings.Contains(rule, "has(self."+name+")") {
			t.Errorf("the rule of spec.remediation doesn't name %s", name)
		}
	}
	if strings.Contains(rule, "has(self.mode)") || strings.Contains(rule, "has(self.allowedActions)") {
		t.Error("mode and allowedActions are the policy's own")
	}
}
