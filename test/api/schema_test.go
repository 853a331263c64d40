// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/config/crd"
)

// TestEnumValuesAreStringsInYAML holds for every value that the schemas list for what
// people write: without quotes, it must reach the API server as that string.
// Kubernetes reads YAML 1.1, where On, Off, Yes and No are booleans.
func TestEnumValuesAreStringsInYAML(t *testing.T) {
	seen := 0
	visit(t, func(path string, schema apiextensionsv1.JSONSchemaProps) {
		if strings.Contains(path, ".status.") {
			return // the manager writes it; a condition's True and False are Kubernetes' own
		}
		for _, value := range schema.Enum {
			var want string
			if err := json.Unmarshal(value.Raw, &want); err != nil {
				continue // a number stands for itself
			}
			seen++
			var got any
			if err := yaml.Unmarshal([]byte(want), &got); err != nil || got != any(want) {
				t.Errorf(
					"%s: the value %s is read as %v (%T, error %v) when it stands without quotes: choose another word",
					path, want, got, got, err)
			}
		}
	})
	if seen < 50 {
		t.Fatalf("found %d values only: are the definitions read?", seen)
	}
}

// TestEveryPlaceIsBounded: whatever can be of any length could fill etcd, and take as long to read as its writer likes.
// Values of any structure are bounded by the API server's limit on a request alone.
func TestEveryPlaceIsBounded(t *testing.T) {
	visit(t, func(path string, schema apiextensionsv1.JSONSchemaProps) {
		bounded := true
		switch {
		case strings.Contains(path, ".metadata"), strings.Count(path, ".") == 1: // apiVersion and kind
			// The API server checks them.
		case schema.Type == "string":
			bounded = schema.MaxLength != nil || schema.Enum != nil || schema.Format == "date-time"
		case schema.Type == "array":
			bounded = schema.MaxItems != nil
		case schema.Type == "object" && schema.AdditionalProperties != nil:
			bounded = schema.MaxProperties != nil
		}
		if !bounded {
			t.Errorf("%s (%s) has no bound", path, schema.Type)
		}
	})
}

// TestWhatTheManagerWritesIsNoEnum: an older schema mustn't refuse a value that a later manager writes, nor a generated
// client one that it doesn't know.
func TestWhatTheManagerWritesIsNoEnum(t *testing.T) {
	visit(t, func(path string, schema apiextensionsv1.JSONSchemaProps) {
		written := strings.Contains(path, ".status.") || strings.HasPrefix(path, "RemediationSlice.") ||
			strings.HasPrefix(path, "Remediation.spec.plan.")
		if written && schema.Enum != nil && !strings.HasSuffix(path, ".conditions[].status") {
			t.Errorf("%s is an enum", path)
		}
	})
}

// visit calls do for every schema of every kind, with the path to it.
func visit(t *testing.T, do func(path string, schema apiextensionsv1.JSONSchemaProps)) {
	t.Helper()
	for _, kind := range definitions(t) {
		for _, version := range kind.Spec.Versions {
			walk(kind.Spec.Names.Kind, *version.Schema.OpenAPIV3Schema, do)
		}
	}
}

// definitions are those of all kinds.
func definitions(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	found, err := crd.Definitions()
	if err != nil || len(found) == 0 {
		t.Fatalf("found no definitions: %v", err)
	}
	return found
}

func walk(path string, schema apiextensionsv1.JSONSchemaProps, do func(string, apiextensionsv1.JSONSchemaProps)) {
	do(path, schema)
	for name := range schema.Properties {
		walk(path+"."+name, schema.Properties[name], do)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		walk(path+"[]", *schema.Items.Schema, do)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		walk(path+"{}", *schema.AdditionalProperties.Schema, do)
	}
}
