// SPDX-License-Identifier: Apache-2.0

package freeze

import (
	"bytes"
	"errors"
	"io"

	yamlv3 "go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// decode reads a file strictly: an unknown key, one that is given twice or spelled with other capitals, and a second
// document are errors. A lenient reader would drop them silently.
func decode(text []byte, into any) error {
	documents, node := yamlv3.NewDecoder(bytes.NewReader(text)), yamlv3.Node{}
	if err := documents.Decode(&node); errors.Is(err, io.EOF) {
		return nil // an empty file is reported as that
	} else if err != nil {
		return err
	}
	if err := documents.Decode(&node); !errors.Is(err, io.EOF) {
		return errors.New("it holds more than one YAML document: put all freezes into one list")
	}
	raw, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return err
	}
	strict, err := kjson.UnmarshalStrict(raw, into)
	return errors.Join(append(strict, err)...)
}
