// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/yaml"
)

// style is how a text is laid out.
type style struct {
	// indent is the width of one level. compact says that a list stands in the column
	// of its key.
	indent  int
	compact bool
	// unit is one level of JSON; empty when it is written in one line.
	unit string
}

// styleOf takes the style from the first places that show one.
func (p *page) styleOf(root *part) style {
	s := style{indent: 2, compact: true}
	var width, list bool
	var look func(*part)
	look = func(at *part) {
		for _, e := range at.entries {
			v := e.value
			if v.block() && at.node.Kind == yaml.MappingNode {
				deeper := p.column(v.start) - p.column(e.start)
				switch v.node.Kind {
				case yaml.MappingNode:
					if !width && deeper > 1 && deeper < 10 {
						s.indent, width = deeper, true
					}
				default:
					if !list {
						s.compact, list = deeper == 0, true
					}
				}
			}
			look(v)
		}
	}
	look(root)
	if p.json && len(root.entries) > 0 {
		s.unit = p.indentOf(root.entries[0])
	}
	return s
}

// block writes a value by indentation, its lines behind so many spaces, without the
// last line break.
func (s style) block(value any, column int) (string, error) {
	var lines []string
	err := s.write(nodeOf(value), column, &lines)
	return strings.Join(lines, "\n"), err
}

func (s style) write(node *yaml.Node, column int, lines *[]string) error {
	switch {
	case len(node.Content) == 0:
		return s.leaf(node, column, lines)
	case node.Kind == yaml.SequenceNode:
		return s.elements(node, column, lines)
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, element := node.Content[i], node.Content[i+1]
		deeper := column + s.indent
		if element.Kind == yaml.SequenceNode && s.compact {
			deeper = column
		}
		if len(element.Content) > 0 {
			name, err := s.encode(key)
			if err != nil {
				return err
			}
			*lines = append(*lines, strings.Repeat(" ", column)+strings.TrimSuffix(name, "\n")+":")
		}
		if err := s.entry(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{key, element}}, element, deeper,
			column, lines); err != nil {
			return err
		}
	}
	return nil
}

func (s style) elements(node *yaml.Node, column int, lines *[]string) error {
	for _, element := range node.Content {
		first := len(*lines)
		if err := s.entry(&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{element}}, element, column+2,
			column, lines); err != nil {
			return err
		}
		if len(element.Content) > 0 { // its first line begins behind the dash
			(*lines)[first] = strings.Repeat(" ", column) + "- " + strings.TrimLeft((*lines)[first], " ")
		}
	}
	return nil
}

// entry writes the collection of one element: a scalar with its key or dash, in the
// column, of anything else only what is in it, deeper.
func (s style) entry(one, element *yaml.Node, deeper, column int, lines *[]string) error {
	if len(element.Content) > 0 {
		return s.write(element, deeper, lines)
	}
	return s.leaf(one, column, lines)
}

// leaf writes what the encoder makes of a node, behind so many spaces.
func (s style) leaf(node *yaml.Node, column int, lines *[]string) error {
	text, err := s.encode(node)
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if line != "" {
			line = strings.Repeat(" ", column) + line
		}
		*lines = append(*lines, line)
	}
	return err
}

func (s style) encode(node *yaml.Node) (string, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(s.indent)
	if err := encoder.Encode(node); err != nil {
		return "", fmt.Errorf("write the value as YAML: %w", err)
	}
	return out.String(), nil
}

// nodeOf writes a JSON value as a node: names first, as people write containers, and
// texts so that every reader of YAML takes them for texts.
func nodeOf(value any) *yaml.Node {
	switch v := value.(type) {
	case map[string]any:
		node := &yaml.Node{Kind: yaml.MappingNode}
		keys := slices.Sorted(maps.Keys(v))
		slices.SortStableFunc(keys, func(a, b string) int { return -cmp.Compare(nameRank(a), nameRank(b)) })
		for _, key := range keys {
			node.Content = append(node.Content, textNode(key), nodeOf(v[key]))
		}
		return node
	case []any:
		node := &yaml.Node{Kind: yaml.SequenceNode}
		for _, element := range v {
			node.Content = append(node.Content, nodeOf(element))
		}
		return node
	case string:
		return textNode(v)
	default: // JSON's numbers, booleans and null are YAML's
		raw, err := json.Marshal(v)
		if err != nil {
			raw = []byte("null")
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Value: string(raw)}
	}
}

func nameRank(key string) int {
	if key == "name" {
		return 1
	}
	return 0
}

func textNode(text string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	var plain any
	switch err := kyaml.Unmarshal([]byte(text), &plain); {
	case strings.Contains(text, "\n") && strings.TrimLeft(text, " \t\n") == text && !strings.ContainsAny(text, "\t\r"):
		node.Style = yaml.LiteralStyle
	case err != nil || plain != any(text):
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

// flowText writes a value in brackets; indent is that of the line which it begins in.
func (p *page) flowText(value any, indent string) (string, error) {
	if p.json {
		return p.jsonText(value, indent)
	}
	node := nodeOf([]any{value})
	node.Style = yaml.FlowStyle
	text, err := p.style.encode(node)
	if err != nil {
		return "", err
	}
	return unwrapped(strings.TrimSuffix(text, "\n")), nil
}

func (p *page) jsonText(value any, indent string) (string, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if p.style.unit != "" {
		encoder.SetIndent(indent, p.style.unit)
	}
	if err := encoder.Encode(value); err != nil {
		return "", fmt.Errorf("write the value as JSON: %w", err)
	}
	return p.breaks(strings.TrimSuffix(out.String(), "\n")), nil
}
