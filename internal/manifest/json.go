// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	kjson "sigs.k8s.io/json"
)

// looksLikeJSON says that a text begins as JSON does. YAML may too, in flow style.
func looksLikeJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && (text[0] == '{' || text[0] == '[')
}

// splitJSON cuts a file into its JSON values, of which kubectl and jq may write
// many. It is false when the text isn't JSON.
func splitJSON(text []byte) ([]chunk, bool) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	var chunks []chunk
	line, at := 1, 0
	for {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return chunks, errors.Is(err, io.EOF)
		}
		end := int(decoder.InputOffset())
		start := end - len(raw)
		line += bytes.Count(text[at:start], []byte{'\n'})
		chunks = append(chunks, chunk{text: text[start:end], offset: start, line: line})
		line += bytes.Count(text[start:end], []byte{'\n'})
		at = end
	}
}

// decodeJSON reads one JSON value with whole numbers as int64. A key that is
// written twice is an error.
func decodeJSON(text []byte) (any, error) {
	var value any
	strict, err := kjson.UnmarshalStrict(text, &value)
	if err == nil {
		err = errors.Join(strict...)
	}
	if err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	return value, nil
}
