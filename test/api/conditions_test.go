// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// TestEveryStatusSaysOfWhichGenerationItIs holds for every kind with conditions: they are a
// map by type, the status says of which generation it speaks, and until anybody has looked
// at an object it says so too, so that kstatus doesn't take it for ready.
func TestEveryStatusSaysOfWhichGenerationItIs(t *testing.T) {
	seen := 0
	for kind, status := range statuses(t) {
		conditions, has := status.Properties["conditions"]
		if kind == "RemediationSlice" {
			if has {
				t.Errorf("%s: it is a record, and yet it has conditions: say in docs/reference/conditions.md what "+
					"they mean", kind)
			}
			continue
		}
		seen++
		if !has || conditions.XListType == nil || *conditions.XListType != "map" ||
			!slices.Equal(conditions.XListMapKeys, []string{"type"}) {
			t.Errorf("%s: its conditions aren't a map by type", kind)
		}
		if _, has := status.Properties["observedGeneration"]; !has {
			t.Errorf("%s: its status doesn't say of which generation it speaks", kind)
		}
		if status.Default == nil || string(status.Default.Raw) != `{"observedGeneration":-1}` {
			t.Errorf("%s: the default of its status is %s", kind, status.Default)
		}
	}
	if seen < 6 {
		t.Fatalf("found %d kinds only: are the definitions read?", seen)
	}
}

// TestPhasesAreNoEnum: a client that is generated from the schema mustn't refuse the phase
// that a later version adds.
func TestPhasesAreNoEnum(t *testing.T) {
	status := statuses(t)["Remediation"]
	for _, field := range []string{"phase", "heldFrom"} {
		if schema, has := status.Properties[field]; !has || len(schema.Enum) > 0 || schema.MaxLength == nil {
			t.Errorf("status.%s is %+v, want a bounded string of any value", field, schema)
		}
	}
}

// statuses are the schemas of the kinds' statuses, by kind.
func statuses(t *testing.T) map[string]apiextensionsv1.JSONSchemaProps {
	t.Helper()
	out := map[string]apiextensionsv1.JSONSchemaProps{}
	for _, kind := range definitions(t) {
		for _, version := range kind.Spec.Versions {
			if status, has := version.Schema.OpenAPIV3Schema.Properties["status"]; has {
				out[kind.Spec.Names.Kind] = status
			}
		}
	}
	return out
}
