// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"go.yaml.in/yaml/v3"

	"evenkeel.dev/evenkeel/internal/policy/rego/compile"
	"evenkeel.dev/evenkeel/internal/prose"
)

// Metadata is the METADATA of a module's package: who owns the policy
// and how it is to run, written beside its rules.
type Metadata struct {
	// File is the module's name as given, Row the row of its METADATA line.
	File string
	Row  int
	// Package is the package's path without "data.", for example
	// "evenkeel.pods.privileged".
	Package          string
	Title            string
	Description      string
	Organizations    []string
	RelatedResources []RelatedResource
	// Custom is what OPA leaves to the policy's platform.
	Custom map[string]any

	rows map[string]int
}

// RelatedResource is a link of a policy, a runbook for example.
type RelatedResource struct {
	Ref, Description string
}

// RowOf is the row in the file where a key is written, for error messages. The
// path goes down from the top of the annotations, list positions as numbers:
// RowOf("custom", "match", "kinds", "0"). A key that isn't written has the row
// of the nearest one above it that is.
func (a Metadata) RowOf(path ...string) int {
	for n := len(path); n > 0; n-- {
		if row, ok := a.rows[strings.Join(path[:n], "\x00")]; ok {
			return row
		}
	}
	return a.Row
}

// ParseMetadata reads the METADATA of a module's package, in either Rego
// version. A module without it, and a key that OPA doesn't define, are errors. The
// error is a *CompileError.
func ParseMetadata(file, src string) (Metadata, error) {
	module, err := parseAnnotated(file, src)
	if err != nil {
		return Metadata{}, err
	}
	index := slices.IndexFunc(module.Annotations, func(a *ast.Annotations) bool { return a.Scope == "package" })
	if index < 0 {
		if problem, found := otherScope(file, src); found {
			return Metadata{}, &compile.Error{Problems: []compile.Problem{problem}}
		}
		return Metadata{}, &compile.Error{Problems: []compile.Problem{compile.At(module.Package.Location, file,
			"the package has no METADATA: write a `# METADATA` comment with title, organizations, related_resources "+
				"and custom above it")}}
	}
	written := module.Annotations[index]
	annotations := Metadata{
		File:          file,
		Row:           written.Location.Row,
		Package:       strings.TrimPrefix(module.Package.Path.String(), "data."),
		Title:         written.Title,
		Description:   written.Description,
		Organizations: written.Organizations,
		Custom:        written.Custom,
		rows:          map[string]int{},
	}
	for _, related := range written.RelatedResources {
		annotations.RelatedResources = append(annotations.RelatedResources,
			RelatedResource{Ref: related.Ref.String(), Description: related.Description})
	}
	if problems := annotations.locate(src); len(problems) > 0 {
		return Metadata{}, &compile.Error{Problems: problems}
	}
	return annotations, nil
}

func parseAnnotated(file, src string) (*ast.Module, error) {
	var first error
	for _, version := range []ast.RegoVersion{ast.RegoV1, ast.RegoV0} {
		module, err := ast.ParseModuleWithOpts(
			file, src, ast.ParserOptions{ProcessAnnotation: true, RegoVersion: version})
		if err == nil && module != nil {
			return module, nil
		}
		if err == nil {
			return nil, &compile.Error{
				Problems: []compile.Problem{
					{File: file, Row: 1, Col: 1, Message: "the module is empty: it must begin with a package"}}}
		}
		if first == nil {
			first = err
		}
	}
	if wrong := wrongValues(file, src); len(wrong) > 0 {
		return nil, &compile.Error{Problems: wrong}
	}
	problems := compile.ProblemsOf(first, file)
	for i := range problems {
		if row, found := brokenRow(src, problems[i]); found {
			problems[i] = compile.Problem{File: file, Row: row, Col: 1,
				Message: "METADATA isn't valid YAML: " + said(problems[i].Message), Help: yamlHelp}
		}
	}
	return nil, &compile.Error{Problems: problems}
}

// locate finds the row of each key. OPA keeps neither them nor the keys that it
// doesn't know, so the comment is read once more.
func (a Metadata) locate(src string) []compile.Problem {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(commentAt(src, a.Row)), &document); err != nil || len(document.Content) == 0 {
		return nil
	}
	root := document.Content[0]
	a.record(root, nil)
	var problems []compile.Problem
	for i := 0; i+1 < len(root.Content); i += 2 {
		key := root.Content[i]
		if !slices.Contains(annotationKeys(), key.Value) {
			problems = append(problems,
				compile.Problem{File: a.File, Row: a.Row + key.Line, Col: 1, Message: fmt.Sprintf(
					"unknown METADATA key %q: OPA defines %s; the platform's own keys go under custom%s", key.Value,
					strings.Join(annotationKeys(), ", "), prose.DidYouMean(key.Value, annotationKeys()))})
		}
	}
	return problems
}

func (a Metadata) record(node *yaml.Node, path []string) {
	if len(path) > 0 {
		a.rows[strings.Join(path, "\x00")] = a.Row + node.Line
	}
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			below := append(slices.Clone(path), node.Content[i].Value)
			a.record(node.Content[i+1], below)
			a.rows[strings.Join(below, "\x00")] = a.Row + node.Content[i].Line
		}
	case yaml.SequenceNode:
		for i, item := range node.Content {
			a.record(item, append(slices.Clone(path), fmt.Sprint(i)))
		}
	case yaml.DocumentNode, yaml.ScalarNode, yaml.AliasNode:
	}
}

// commentAt is the YAML of the comment block whose METADATA line is at row.
func commentAt(src string, row int) string {
	var text strings.Builder
	for i, line := range strings.Split(src, "\n") {
		if i < row {
			continue
		}
		comment, isComment := strings.CutPrefix(strings.TrimSpace(line), "#")
		if !isComment {
			break
		}
		text.WriteString(strings.TrimSuffix(comment, "\r") + "\n")
	}
	return text.String()
}

// annotationKeys are those of OPA's annotations reference.
func annotationKeys() []string {
	return []string{
		"scope", "title", "description", "related_resources", "organizations", "authors",
		"schemas", "entrypoint", "custom", "compile", "labels",
	}
}
