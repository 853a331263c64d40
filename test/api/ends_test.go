// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// TestAnEndStandsBesideWhatEnds holds for a plan's pause and a breaker's hold: the API server takes an end in the one
// form that every reader of it takes, and beside nothing that has none.
func TestAnEndStandsBesideWhatEnds(t *testing.T) {
	const at = "2027-01-07T08:00:00Z"
	type spec = map[string]any
	paused := func(until any) spec { return spec{"desiredState": "Paused", "pausedUntilTime": until} }
	held := func(until any) spec { return spec{"mode": "ForcedOpen", "forcedOpenUntilTime": until} }
	wrongPlan, wrongHold := "it needs desiredState Paused", "it needs that mode"
	cases := map[string]struct {
		kind  string
		spec  spec
		wrong string // empty: it is taken
	}{
		"a pause":                        {"Remediation", spec{"desiredState": "Paused"}, ""},
		"a pause with an end":            {"Remediation", paused(at), ""},
		"a pause with an end, in a zone": {"Remediation", paused("2027-01-07T09:00:00.5+01:00"), ""},
		"an end of nothing":              {"Remediation", spec{"pausedUntilTime": at}, wrongPlan},
		"an end of what runs": {"Remediation", spec{"desiredState": "Running", "pausedUntilTime": at},
			wrongPlan},
		"an end of what is aborted": {"Remediation", spec{"desiredState": "Aborted", "pausedUntilTime": at},
			wrongPlan},
		"an end of what is undone": {"Remediation", spec{"desiredState": "Undone", "pausedUntilTime": at},
			wrongPlan},
		"a pause that ends in a word":        {"Remediation", paused("tomorrow"), "must be of type date-time"},
		"a pause that ends in small letters": {"Remediation", paused("2027-01-07t08:00:00z"), "should match"},
		"a pause that ends in no hour":       {"Remediation", paused("2027-01-07T08:00:00+99:00"), "should match"},
		"a pause that ends in a number":      {"Remediation", paused(int64(7)), "must be of type date-time"},
		"a hold":                             {"RemediationBreaker", spec{"mode": "ForcedOpen"}, ""},
		"a hold with an end":                 {"RemediationBreaker", held(at), ""},
		"an end of no mode":                  {"RemediationBreaker", spec{"forcedOpenUntilTime": at}, wrongHold},
		"an end of another mode": {"RemediationBreaker", spec{"mode": "Automatic", "forcedOpenUntilTime": at},
			wrongHold},
		"a hold that ends in a word":        {"RemediationBreaker", held("2h"), "must be of type date-time"},
		"a hold that ends in small letters": {"RemediationBreaker", held("2027-01-07T08:00:00z"), "should match"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			told := refusal(t, specSchema(t, tc.kind), tc.spec)
			if (told == "") != (tc.wrong == "") || !strings.Contains(told, tc.wrong) {
				t.Errorf("refused with %q, want %q", told, tc.wrong)
			}
			if tc.wrong != "" {
				return
			}
			var plan v1alpha1.RemediationSpec
			var breaker v1alpha1.RemediationBreakerSpec
			for _, into := range []any{&plan, &breaker} {
				if err := runtime.DefaultUnstructuredConverter.FromUnstructured(tc.spec, into); err != nil {
					t.Errorf("what is taken can't be read: %v", err)
				}
			}
		})
	}
}

// specSchema is what a kind's spec may hold, but for what the manager alone writes.
func specSchema(t *testing.T, kind string) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	var found apiextensionsv1.JSONSchemaProps
	visit(t, func(path string, schema apiextensionsv1.JSONSchemaProps) {
		if path == kind+".spec" {
			found = *schema.DeepCopy()
		}
	})
	if found.Type == "" {
		t.Fatalf("there is no schema of the spec of %s", kind)
	}
	delete(found.Properties, "plan")
	delete(found.Properties, "scope")
	found.Required = nil
	return found
}

// refusal is what the API server says of an object that isn't of a schema; empty when it is.
func refusal(t *testing.T, schema apiextensionsv1.JSONSchemaProps, object map[string]any) string {
	t.Helper()
	internal := &apiextensions.JSONSchemaProps{}
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&schema, internal, nil)
	if err != nil {
		t.Fatal(err)
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		t.Fatal(err)
	}
	errs := validation.ValidateCustomResource(field.NewPath("spec"), object, validator)
	if len(errs) == 0 {
		rules := cel.NewValidator(structural, false, celconfig.PerCallLimit)
		errs, _ = rules.Validate(t.Context(), field.NewPath("spec"), structural, object, nil,
			celconfig.RuntimeCELCostBudget)
	}
	if len(errs) == 0 {
		return ""
	}
	return errs.ToAggregate().Error()
}
