// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xeipuuv/gojsonschema"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/policies"
)

// schemaIn is one of the schemas for editors.
func schemaIn(t *testing.T, name string) *gojsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "schemas", name))
	if err != nil {
		t.Fatal(err)
	}
	schema, err := gojsonschema.NewSchema(gojsonschema.NewBytesLoader(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return schema
}

// wrongs are what a schema finds wrong with a value.
func wrongs(t *testing.T, schema *gojsonschema.Schema, value any) []string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	result, err := schema.Validate(gojsonschema.NewBytesLoader(text))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, wrong := range result.Errors() {
		found = append(found, wrong.String())
	}
	return found
}

func TestTheSchemasForEditorsTakeWhatIsShipped(t *testing.T) {
	samples, err := filepath.Glob(filepath.Join("..", "..", "config", "samples", "*.yaml"))
	if err != nil || len(samples) < 5 {
		t.Fatalf("found the samples %v: %v", samples, err)
	}
	taken := 0
	for _, file := range samples {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := yaml.Unmarshal(text, &object); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		kind, _ := object["kind"].(string)
		if apiVersion, _ := object["apiVersion"].(string); !strings.HasPrefix(apiVersion, "evenkeel.dev/") {
			continue
		}
		if found := wrongs(t, schemaIn(t, strings.ToLower(kind)+"_v1alpha1.json"), object); len(found) > 0 {
			t.Errorf("%s: %s", file, strings.Join(found, "; "))
		}
		taken++
	}
	if taken < 5 {
		t.Errorf("only %d samples were looked at", taken)
	}
}

func TestTheSchemaOfMETADATATakesTheLibrary(t *testing.T) {
	schema := schemaIn(t, "metadata.json")
	library, err := directory.Load(policies.FS, ".")
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	err = fs.WalkDir(policies.FS, ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".rego" || strings.HasSuffix(path, "_test.rego") {
			return err
		}
		text, err := fs.ReadFile(policies.FS, path)
		if err != nil {
			return err
		}
		read, err := rego.ParseMetadata(path, string(text))
		if err != nil || read.Custom == nil {
			return nil //nolint:nilerr // a library of shared rules has no METADATA of a policy
		}
		taken++
		if found := wrongs(t, schema, asWritten(read)); len(found) > 0 {
			t.Errorf("%s: %s", path, strings.Join(found, "; "))
		}
		return nil
	})
	if err != nil || taken != len(library) {
		t.Errorf("%d policies of %d were looked at: %v", taken, len(library), err)
	}
}

// asWritten is METADATA as its author wrote it.
func asWritten(read rego.Metadata) map[string]any {
	var related []any
	for _, resource := range read.RelatedResources {
		related = append(related, map[string]any{"ref": resource.Ref, "description": resource.Description})
	}
	return map[string]any{"title": read.Title, "description": read.Description, "organizations": read.Organizations,
		"related_resources": related, "custom": read.Custom}
}

func TestTheSchemasForEditorsFindMistakes(t *testing.T) {
	base := func(change func(custom map[string]any)) map[string]any {
		custom := map[string]any{"id": "p", "match": map[string]any{
			"kinds": []any{map[string]any{"apiGroups": []any{""}, "kinds": []any{"Pod"}}}}}
		change(custom)
		return map[string]any{"title": "t", "custom": custom}
	}
	tests := map[string]struct {
		change func(custom map[string]any)
		want   string
	}{
		"nothing":        {func(map[string]any) {}, ""},
		"a key misspelt": {func(c map[string]any) { c["severty"] = "High" }, "severty is not allowed"},
		"a key misspelt below": {func(c map[string]any) { c["admission"] = map[string]any{"acton": "Deny"} },
			"acton is not"},
		"an unknown value": {func(c map[string]any) { c["severity"] = "Hgh" }, "must be one of"},
		"a match that is missing": {func(c map[string]any) { delete(c, "match") },
			"match is required"},
		"a strategy that is named": {func(c map[string]any) {
			c["remediation"] = map[string]any{"mode": "DryRun", "strategyRef": map[string]any{"name": "careful"}}
		}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			found := strings.Join(wrongs(t, schemaIn(t, "metadata.json"), base(tt.change)), "; ")
			if tt.want == "" && found != "" || !strings.Contains(found, tt.want) {
				t.Errorf("found %q, want %q", found, tt.want)
			}
		})
	}
}
