// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kyaml "sigs.k8s.io/yaml"
)

// Render writes policies, or templates, as YAML documents, ready for kubectl apply, without
// their status.
func Render[T metav1.Object](objects []T) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	for _, o := range objects {
		document, err := documentOf(o)
		if err == nil {
			err = encoder.Encode(document)
		}
		if err != nil {
			return nil, fmt.Errorf("render %s: %w", o.GetName(), err)
		}
	}
	if err := encoder.Close(); err != nil {
		return nil, fmt.Errorf("render: %w", err)
	}
	return out.Bytes(), nil
}

// documentOf is the object with its fields in the API's order, and text of many
// lines, the Rego above all, as a block.
func documentOf(o metav1.Object) (*yaml.Node, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	delete(object, "status")
	if text, err = json.Marshal(object); err != nil {
		return nil, err
	}
	// JSON is YAML. Only its layout isn't for people.
	document := &yaml.Node{}
	if err := yaml.Unmarshal(text, document); err != nil {
		return nil, err
	}
	layOut(document)
	return document, nil
}

func layOut(node *yaml.Node) {
	node.Style = styleOf(node)
	for _, child := range node.Content {
		layOut(child)
	}
}

func styleOf(node *yaml.Node) yaml.Style {
	switch {
	case node.Kind != yaml.ScalarNode || node.Tag != "!!str":
		return 0
	case strings.TrimLeft(node.Value, " \t\n") != node.Value:
		// As a block this would need a mark that the encoder doesn't write.
		return yaml.DoubleQuotedStyle
	case strings.Contains(node.Value, "\n"):
		return yaml.LiteralStyle
	}
	// Kubernetes reads YAML 1.1, where Off, for one, is a boolean.
	var plain any
	if err := kyaml.Unmarshal([]byte(node.Value), &plain); err != nil || plain != any(node.Value) {
		return yaml.DoubleQuotedStyle
	}
	return 0
}
