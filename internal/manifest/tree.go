// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// tree is a document with the lines of its fields. The zero tree has none.
type tree struct {
	root *yaml.Node
}

// maxJSON is the size in bytes from which JSON has no lines: it is a list of a whole cluster, which people don't read.
const maxJSON = 4 << 20

// parseTree reads the lines. The text was read before: what this parser can't
// read, of another version of YAML, has no lines.
func parseTree(text []byte) *tree {
	document := &yaml.Node{}
	if looksLikeJSON(text) {
		if len(text) > maxJSON {
			return &tree{}
		}
		// JSON may be indented by tabs; within its strings they are escaped.
		text = bytes.ReplaceAll(text, []byte{'\t'}, []byte{' '})
	}
	if err := yaml.Unmarshal(text, document); err != nil || len(document.Content) == 0 {
		return &tree{}
	}
	return &tree{root: document.Content[0]}
}

// lineOf is the line of what a JSON Pointer leads to, as far as it leads; 0 when
// there are no lines. A field's line is its key's.
func (t *tree) lineOf(pointer string) int {
	if t.root == nil {
		return 0
	}
	node, line := t.root, t.root.Line
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		next, at := child(node, token)
		if next == nil {
			break
		}
		node, line = next, at
	}
	return line
}

// child is the value below a node, and the line where its entry begins; nil when
// there is none.
func child(node *yaml.Node, token string) (*yaml.Node, int) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch node.Kind {
	case yaml.MappingNode:
		return member(node, token)
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i], node.Content[i].Line
		}
	default: // there is nothing below it
	}
	return nil, 0
}

// member is the value of a key; one that is written goes before those merged in.
func member(node *yaml.Node, name string) (*yaml.Node, int) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if key := node.Content[i]; key.Value == name {
			return node.Content[i+1], key.Line
		}
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Tag != "!!merge" {
			continue
		}
		merged := node.Content[i+1]
		sources := []*yaml.Node{merged}
		if merged.Kind == yaml.SequenceNode {
			sources = merged.Content
		}
		for _, source := range sources {
			if value, line := child(source, name); value != nil {
				return value, line
			}
		}
	}
	return nil, 0
}
