// SPDX-License-Identifier: Apache-2.0

package freeze

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"
)

// spelt refuses what a lenient reader would drop in silence: a second document of a file, and keys that are spelt with
// other capitals, of which the last would count.
func spelt(text []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	switch err := decoder.Decode(&first); {
	case errors.Is(err, io.EOF):
		return nil // an empty file is told as that
	case err != nil:
		return err
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return errors.New("it holds more than one YAML document: put all freezes into one list")
	}
	root := first.Content[0]
	if err := keysOf(root, "freezes"); err != nil {
		return err
	}
	for i := 1; i < len(root.Content); i += 2 {
		for _, entry := range root.Content[i].Content {
			if err := keysOf(entry, "name", "reason", "from", "until", "schedule", "duration", "timeZone"); err != nil {
				return err
			}
		}
	}
	return nil
}

// keysOf checks the keys of a mapping; what isn't one is found by who reads it.
func keysOf(node *yaml.Node, known ...string) error {
	if node.Kind == yaml.AliasNode || node.Anchor != "" {
		return fmt.Errorf("line %d: write it out, without anchors and aliases", node.Line)
	}
	if node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i < len(node.Content); i += 2 {
		if key := node.Content[i]; !slices.Contains(known, key.Value) {
			return fmt.Errorf("line %d: unknown field %q: there are %v", key.Line, key.Value, known)
		}
	}
	return nil
}
