// SPDX-License-Identifier: Apache-2.0

// Command schemas writes JSON Schemas for editors from the generated CRDs: one for each kind, and one for the METADATA
// of a policy in Rego. They hold what the CRDs hold, as far as JSON Schema can say it: rules in CEL are left to the
// API server and to `evenkeel test`. Start at run.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// draft is the version of JSON Schema that editors know best.
const draft = "http://json-schema.org/draft-07/schema#"

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "Usage: schemas CRD_FOLDER OUTPUT_FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// crd is the part of a CustomResourceDefinition that is read. The schema stays a tree, of which nothing gets lost.
type crd struct {
	Spec struct {
		Group string
		Names struct{ Kind string }

		Versions []struct {
			Name   string
			Schema struct {
				OpenAPIV3Schema node `json:"openAPIV3Schema"`
			}
		}
	}
}

// node is a schema, or a part of one.
type node = map[string]any

func run(from, to string) error {
	files, err := filepath.Glob(filepath.Join(from, "*.yaml"))
	if err != nil {
		return fmt.Errorf("list %s: %w", from, err)
	}
	if len(files) == 0 {
		return fmt.Errorf("%s holds no CRDs: run `make manifests`", from)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		var c crd
		if err := yaml.Unmarshal(source, &c); err != nil {
			return fmt.Errorf("parse %s: %w", file, err)
		}
		if err := writeKind(to, &c); err != nil {
			return err
		}
	}
	return nil
}

// writeKind writes the schemas of a kind's versions, and from the policy's the one of METADATA.
func writeKind(to string, c *crd) error {
	for _, version := range c.Spec.Versions {
		schema := version.Schema.OpenAPIV3Schema
		strict(schema)
		properties := part(schema, "properties")
		delete(properties, "status") // nobody writes it
		properties["apiVersion"] = node{"const": c.Spec.Group + "/" + version.Name}
		properties["kind"] = node{"const": c.Spec.Names.Kind}
		schema["required"] = []string{"apiVersion", "kind"}
		if _, found := properties["spec"]; found {
			schema["required"] = []string{"apiVersion", "kind", "metadata", "spec"}
		}
		name := strings.ToLower(c.Spec.Names.Kind) + "_" + version.Name + ".json"
		if err := write(filepath.Join(to, name), c.Spec.Names.Kind, schema); err != nil {
			return err
		}
		if c.Spec.Names.Kind == "ClusterRegoPolicy" {
			spec := part(part(properties, "spec"), "properties")
			if err := write(filepath.Join(to, "metadata.json"), "METADATA of a policy in Rego",
				metadata(spec)); err != nil {
				return err
			}
		}
	}
	return nil
}

// metadata is the schema of the METADATA comment from which a policy is built.
func metadata(spec node) node {
	custom := node{"id": node{"type": "string", "maxLength": 52,
		"description": "id is the name of the ClusterRegoPolicy."}}
	for _, field := range []string{"severity", "match", "admission", "parameters", "remediation"} {
		custom[field] = spec[field]
	}
	return node{
		"type":        "object",
		"description": "METADATA is the comment above the package of a policy in Rego, without the number signs.",
		"required":    []string{"title", "custom"},
		"properties": node{
			"title":       spec["title"],
			"description": spec["description"],
			"organizations": node{"type": "array", "maxItems": 1, "items": spec["owner"],
				"description": "organizations names the one team that answers for the rule."},
			"related_resources": node{"type": "array",
				"description": "related_resources begins with the runbook.",
				"items": node{"type": "object", "required": []string{"ref"}, "properties": node{
					"ref": spec["runbookURL"], "description": node{"type": "string"}}}},
			"custom": node{"type": "object", "required": []string{"id", "match"}, "additionalProperties": false,
				"properties": custom, "description": "custom is what OPA leaves to others: the policy's own settings."},
		},
	}
}

// strict turns a schema of a CRD into JSON Schema, in place: what the API server would prune is wrong.
func strict(n node) {
	_, either := n["x-kubernetes-int-or-string"]
	_, open := n["x-kubernetes-preserve-unknown-fields"]
	for key := range n {
		if strings.HasPrefix(key, "x-kubernetes-") {
			delete(n, key)
		}
	}
	if either {
		delete(n, "anyOf")
		n["type"] = []string{"integer", "string"}
	}
	properties := part(n, "properties")
	maps.DeleteFunc(properties, func(_ string, property any) bool { return refused(property) })
	for _, property := range properties {
		if p, is := property.(node); is {
			strict(p)
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if below, is := n[key].(node); is {
			strict(below)
		}
	}
	if _, said := n["additionalProperties"]; len(properties) > 0 && !said && !open {
		n["additionalProperties"] = false
	}
}

// refused says that a property is there only to be refused by name.
func refused(property any) bool {
	p, is := property.(node)
	return is && strings.Contains(fmt.Sprint(p["x-kubernetes-validations"]), "rule:false")
}

// part is the part of a schema at a key; an empty one that belongs to nothing where there is none.
func part(n node, key string) node {
	if found, is := n[key].(node); is {
		return found
	}
	return node{}
}

func write(file, title string, schema node) error {
	schema["$schema"], schema["title"] = draft, title
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
