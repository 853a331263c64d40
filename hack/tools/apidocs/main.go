// SPDX-License-Identifier: Apache-2.0

// Command apidocs writes the API reference from the generated CRDs, so that it
// can't say anything else than what the API server validates. It must never hold
// text of its own about a field. Start at write.
package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "Usage: apidocs CRD_FOLDER OUTPUT_FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(folder, output string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return fmt.Errorf("list %s: %w", folder, err)
	}
	if len(files) == 0 {
		return fmt.Errorf("%s holds no CRDs: run `make manifests`", folder)
	}
	var text strings.Builder
	fmt.Fprint(&text, "<!-- Generated from config/crd/bases: run `make generate`. -->\n\n# API reference\n")
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(source, &crd); err != nil {
			return fmt.Errorf("parse %s: %w", file, err)
		}
		write(&text, &crd)
	}
	if err := os.WriteFile(output, []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", output, err)
	}
	return nil
}

// write writes one kind: a table for its spec and one for its status, or a single one for a
// kind that has neither.
func write(out io.Writer, crd *apiextensionsv1.CustomResourceDefinition) {
	names := crd.Spec.Names
	for _, version := range crd.Spec.Versions {
		fmt.Fprintf(out, "\n## %s\n\n`%s/%s`, %s-scoped, short name `%s`.\n", names.Kind, crd.Spec.Group, version.Name,
			strings.ToLower(string(crd.Spec.Scope)), strings.Join(names.ShortNames, "`, `"))
		schema := version.Schema.OpenAPIV3Schema
		fmt.Fprintf(out, "\n%s\n", sentence(schema.Description))
		if _, found := schema.Properties["spec"]; !found {
			for _, ofAll := range []string{"apiVersion", "kind", "metadata"} {
				delete(schema.Properties, ofAll)
			}
			fmt.Fprint(out, "\n| field | type | meaning |\n|---|---|---|\n")
			properties(out, *schema, "")
			continue
		}
		for _, part := range []string{"spec", "status"} {
			fmt.Fprintf(out, "\n### %s.%s\n\n| field | type | meaning |\n|---|---|---|\n", names.Kind, part)
			properties(out, schema.Properties[part], "")
		}
	}
}

// properties writes a row for each field below a schema, depth first.
func properties(out io.Writer, schema apiextensionsv1.JSONSchemaProps, prefix string) {
	names := make([]string, 0, len(schema.Properties))
	for name := range schema.Properties {
		names = append(names, name)
	}
	required := func(name string) int {
		if slices.Contains(schema.Required, name) {
			return 0
		}
		return 1
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(required(a), required(b)), cmp.Compare(a, b))
	})
	for _, name := range names {
		field := schema.Properties[name]
		path := prefix + name
		mark := ""
		if required(name) == 0 {
			mark = " (required)"
		}
		fmt.Fprintf(out, "| `%s`%s | %s | %s |\n", path, mark, typeOf(field), meaning(field))
		switch {
		case kubernetesType(field) != "": // Kubernetes documents its own types
		case field.Items != nil && field.Items.Schema != nil:
			properties(out, *field.Items.Schema, path+"[].")
		default:
			properties(out, field, path+".")
		}
	}
}

// kubernetesType names a type of Kubernetes' own API machinery, or is empty.
func kubernetesType(field apiextensionsv1.JSONSchemaProps) string {
	if field.Items != nil && field.Items.Schema != nil {
		if name := kubernetesType(*field.Items.Schema); name != "" {
			return "list of " + name
		}
		return ""
	}
	switch {
	case hasAll(field, "matchLabels", "matchExpressions"):
		return "LabelSelector"
	case hasAll(field, "lastTransitionTime", "observedGeneration", "reason", "status", "type"):
		return "Condition"
	}
	return ""
}

func hasAll(field apiextensionsv1.JSONSchemaProps, names ...string) bool {
	for _, name := range names {
		if _, ok := field.Properties[name]; !ok {
			return false
		}
	}
	return true
}

func typeOf(field apiextensionsv1.JSONSchemaProps) string {
	if name := kubernetesType(field); name != "" {
		return name
	}
	switch {
	case field.XIntOrString:
		return "integer or string"
	case field.Items != nil && field.Items.Schema != nil:
		return "list of " + typeOf(*field.Items.Schema)
	case field.Type == "":
		return "any"
	case field.Format != "" && field.Type == "string":
		return field.Format
	}
	return field.Type
}

// meaning is the description with the bounds that the schema sets.
func meaning(field apiextensionsv1.JSONSchemaProps) string {
	var bounds []string
	if values := field.Enum; len(values) > 0 {
		var list []string
		for _, value := range values {
			list = append(list, "`"+strings.Trim(string(value.Raw), `"`)+"`")
		}
		bounds = append(bounds, "One of "+strings.Join(list, ", ")+".")
	}
	if field.Minimum != nil && field.Maximum != nil {
		bounds = append(bounds, fmt.Sprintf("%g to %g.", *field.Minimum, *field.Maximum))
	}
	if field.MaxItems != nil {
		bounds = append(bounds, fmt.Sprintf("At most %d.", *field.MaxItems))
	}
	for _, rule := range field.XValidations {
		if rule.Message != "" {
			bounds = append(bounds, "Rule: "+sentence(rule.Message))
		}
	}
	text := strings.TrimSpace(sentence(field.Description) + " " + strings.Join(bounds, " "))
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(text)
}

// sentence puts a text on one line, ending with a full stop.
func sentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}
