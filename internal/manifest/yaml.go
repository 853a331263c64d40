// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	yamlv2 "go.yaml.in/yaml/v2"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// decodeYAML reads one YAML document as kubectl does. A key that is written twice is an error, and so is anything that
// follows the document, which the library skips silently.
func decodeYAML(text []byte) (any, error) {
	value, err := valueOf(text)
	var unsupported *json.UnsupportedValueError
	if errors.As(err, &unsupported) {
		return nil, errors.New(".inf and .nan can't be written as JSON: give a number")
	}
	if err == nil && !endsWithText(text) {
		err = checkEnd(text)
	}
	if err != nil {
		return nil, err
	}
	return value, nil
}

// maxDepth is how deep sigs.k8s.io/json reads values within values.
const maxDepth = 10_000

// valueOf is the value that sigs.k8s.io/yaml and sigs.k8s.io/json make of a document by way of JSON. What comes out of
// JSON as it went in doesn't take that way: it costs two thirds as much as the YAML library.
func valueOf(text []byte) (any, error) {
	var read any
	if err := yamlv2.UnmarshalStrict(text, &read); err != nil {
		return nil, err
	}
	if value, same := asJSON(read, maxDepth); same {
		return value, nil
	}
	raw, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	var value any
	err = kjson.UnmarshalCaseSensitivePreserveInts(raw, &value)
	return value, err
}

// asJSON gives a value of the YAML library the types of JSON. It is false for what JSON may change: floating-point and
// very large numbers, keys that aren't text, and text that isn't UTF-8.
func asJSON(value any, depth int) (converted any, same bool) {
	switch v := value.(type) {
	case nil, bool:
		return v, true
	case string:
		return v, utf8.ValidString(v)
	case int:
		return int64(v), true
	case []any:
		same = depth > 0
		for i := 0; i < len(v) && same; i++ {
			v[i], same = asJSON(v[i], depth-1)
		}
		return v, same
	case map[any]any:
		return asObject(v, depth)
	default:
		return nil, false
	}
}

func asObject(value map[any]any, depth int) (object map[string]any, same bool) {
	object = make(map[string]any, len(value))
	for key, member := range value {
		name, isText := key.(string)
		if object[name], same = asJSON(member, depth-1); !same || !isText || !utf8.ValidString(name) {
			return nil, false
		}
	}
	return object, depth > 0
}

// endsWithText reports that a document can't end before its text does. A block mapping or list at the margin is such a
// document: what follows at the margin belongs to it, or is an error. Line ends that only YAML knows may hide a mark.
func endsWithText(text []byte) bool {
	for line := range bytes.Lines(text) {
		switch first := line[0]; {
		case first == '#', first == '\n', marks(line, "---") && blank(line):
		case first >= 'a' && first <= 'z', first >= 'A' && first <= 'Z', marks(line, "-"):
			return !slices.ContainsFunc([]string{"\r", "\u0085", "\u2028", "\u2029"},
				func(end string) bool { return bytes.Contains(text, []byte(end)) })
		default:
			return false
		}
	}
	return false
}

const (
	// noMark is the library's error for a second document without a mark.
	noMark  = "did not find expected <document start>"
	follows = "something follows the object: put a line with --- before it"
)

// checkEnd returns an error if the text goes on after its first document.
func checkEnd(text []byte) error {
	documents := yamlv2.NewDecoder(bytes.NewReader(text))
	if err := documents.Decode(&unread{}); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	err := documents.Decode(&unread{})
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return errors.New(follows)
	case !strings.HasSuffix(err.Error(), noMark):
		return err
	}
	line := 0 // the line before; the library leaves it out for the first one
	if _, scanErr := fmt.Sscanf(err.Error(), "yaml: line %d:", &line); scanErr != nil {
		line = 0
	}
	return fmt.Errorf("line %d: %s", line+1, follows)
}

// unread is a document that is parsed without its values.
type unread struct{}

// UnmarshalYAML drops the document.
func (*unread) UnmarshalYAML(func(any) error) error { return nil }
