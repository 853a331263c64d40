// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"evenkeel.dev/evenkeel/internal/policy/rego/compile"
	"evenkeel.dev/evenkeel/internal/prose"
)

// scopes are those that OPA knows; a policy's METADATA has the first.
func scopes() []string { return []string{"package", "subpackages", "document", "rule"} }

// wrongValues are the values of METADATA that OPA can't read, each in the row of its key. OPA itself names the row
// where the comment ends or begins.
func wrongValues(file, src string) []compile.Problem {
	var problems []compile.Problem
	for i, line := range strings.Split(src, "\n") {
		if !beginsMetadata(line) {
			continue
		}
		row := i + 1
		for _, key := range writtenKeys(commentAt(src, row)) {
			if message := wrongValue(key.name, key.value); message != "" {
				problems = append(problems, compile.Problem{File: file, Row: row + key.line, Col: 1,
					Message: key.name + " of METADATA: " + message})
			}
		}
	}
	return problems
}

// otherScope is the scope of the METADATA above the package, where that isn't the package's; false where there is none.
func otherScope(file, src string) (compile.Problem, bool) {
	for i, line := range strings.Split(src, "\n") {
		if strings.HasPrefix(line, "package ") {
			break
		}
		if !beginsMetadata(line) {
			continue
		}
		for _, key := range writtenKeys(commentAt(src, i+1)) {
			if key.name == "scope" && key.value != scopes()[0] {
				return compile.Problem{File: file, Row: i + 1 + key.line, Col: 1, Message: fmt.Sprintf("scope of "+
					"METADATA: it is %v, and the policy is read from that of the package: write package, or leave it "+
					"out", key.value)}, true
			}
		}
	}
	return compile.Problem{}, false
}

func beginsMetadata(line string) bool {
	comment, isComment := strings.CutPrefix(strings.TrimSpace(line), "#")
	return isComment && strings.TrimSpace(comment) == "METADATA"
}

// written is a key of a comment with its line, from 1.
type written struct {
	name  string
	value any
	line  int
}

func writtenKeys(comment string) []written {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(comment), &document); err != nil || len(document.Content) == 0 {
		return nil
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil
	}
	var keys []written
	for i := 0; i+1 < len(root.Content); i += 2 {
		var value any
		if err := root.Content[i+1].Decode(&value); err != nil {
			continue // said as what isn't YAML
		}
		keys = append(keys, written{name: root.Content[i].Value, value: value, line: root.Content[i].Line})
	}
	return keys
}

// wrongValue says why OPA can't read the value of a key; empty where it can.
func wrongValue(key string, value any) string {
	switch key {
	case "scope":
		if text, _ := value.(string); !slices.Contains(scopes(), text) {
			return fmt.Sprintf("%v isn't supported: use package, or leave it out; OPA has %s%s", value,
				strings.Join(scopes(), ", "), prose.DidYouMean(text, scopes()))
		}
	case "title", "description":
		if !isScalar(value) {
			return "it must be a text; one that holds `: ` or begins with a special character goes in quotes"
		}
	case "custom":
		if _, isMap := value.(map[string]any); !isMap {
			return "it must be a map, a key for each: id, severity, match and so on"
		}
	case "organizations", "related_resources", "authors", "schemas":
		return wrongList(key, value)
	}
	return ""
}

// wrongList says why OPA can't read the value of a key that is a list; empty where it can.
func wrongList(key string, value any) string {
	list, isList := value.([]any)
	switch {
	case key == "organizations" && (!isList || slices.ContainsFunc(list, isNoScalar)):
		return "it must be a list of names: write `- team` on a line of its own below it"
	case key == "related_resources":
		return wrongResources(value)
	case !isList:
		return "it must be a list: write each on a line of its own below it, with a dash"
	}
	return ""
}

// wrongResources says why the links can't be read.
func wrongResources(value any) string {
	list, isList := value.([]any)
	if !isList {
		return "it must be a list: write `- ref: https://…` on a line of its own below it"
	}
	for _, item := range list {
		ref := item
		if fields, isMap := item.(map[string]any); isMap {
			if ref = fields["ref"]; ref == nil {
				return "an entry has no ref: write `- ref: https://…`"
			}
		}
		text, isText := ref.(string)
		if _, err := url.Parse(text); err != nil || text == "" || !isText {
			return fmt.Sprintf("%v is no URL: write `- ref: https://…`", ref)
		}
	}
	return ""
}

func isScalar(value any) bool {
	switch value.(type) {
	case map[string]any, map[any]any, []any:
		return false
	}
	return true
}

func isNoScalar(value any) bool { return !isScalar(value) }
