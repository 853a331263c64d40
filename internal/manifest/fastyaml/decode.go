// SPDX-License-Identifier: Apache-2.0

package fastyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v2"
)

// Decode reads a YAML document as sigs.k8s.io/yaml does, and so kubectl: by the
// rules of YAML 1.1, where "yes" and "on" are true. A key that is written twice is
// an error, as is anything that follows the document: the library itself would say
// nothing of it. It converts the parser's values itself instead of writing them as JSON
// and reading that again, which takes as long as the parsing does.
func Decode(text []byte) (any, error) {
	var value any
	documents := yaml.NewDecoder(bytes.NewReader(text))
	documents.SetStrict(true)
	switch err := documents.Decode(&value); {
	case errors.Is(err, io.EOF):
		return nil, nil //nolint:nilnil // what holds no document is null, as for kubectl
	case err != nil:
		return nil, err
	}
	if err := ended(documents); err != nil {
		return nil, err
	}
	return jsonValue(value)
}

// ended is an error when a document isn't the last one.
func ended(documents *yaml.Decoder) error {
	var next any
	err := documents.Decode(&next)
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return errors.New(follows)
	case !strings.HasSuffix(err.Error(), unmarked):
		return err
	}
	line := 0 // before the one that is meant, and not told for the first
	if _, scanErr := fmt.Sscanf(err.Error(), "yaml: line %d:", &line); scanErr != nil {
		line = 0
	}
	return fmt.Errorf("line %d: %s", line+1, follows)
}

const (
	// unmarked is what the library says of a second document without a mark.
	unmarked = "did not find expected <document start>"
	follows  = "something follows the object: put a line with --- before it"
)

// jsonValue makes a parsed value one that unstructured content may hold.
func jsonValue(value any) (any, error) {
	switch v := value.(type) {
	case map[any]any:
		return jsonObject(v)
	case []any:
		for i := range v {
			element, err := jsonValue(v[i])
			if err != nil {
				return nil, err
			}
			v[i] = element
		}
		return v, nil
	case int:
		return int64(v), nil
	case uint64: // beyond int64
		return float64(v), nil
	case float64:
		return jsonNumber(v)
	case nil, string, bool, int64:
		return v, nil
	default:
		return nil, fmt.Errorf("%v can't be written as JSON", v)
	}
}

func jsonObject(parsed map[any]any) (any, error) {
	object := make(map[string]any, len(parsed))
	for key, value := range parsed {
		name, err := jsonKey(key)
		if err != nil {
			return nil, err
		}
		if object[name], err = jsonValue(value); err != nil {
			return nil, err
		}
	}
	return object, nil
}

// jsonKey is a key as sigs.k8s.io/yaml writes it.
func jsonKey(key any) (string, error) {
	switch k := key.(type) {
	case string:
		return k, nil
	case int:
		return strconv.Itoa(k), nil
	case int64:
		return strconv.FormatInt(k, 10), nil
	case bool:
		return strconv.FormatBool(k), nil
	case float64:
		switch {
		case math.IsInf(k, 1):
			return ".inf", nil
		case math.IsInf(k, -1):
			return "-.inf", nil
		case math.IsNaN(k):
			return ".nan", nil
		}
		return strconv.FormatFloat(k, 'g', -1, 32), nil
	default:
		return "", fmt.Errorf("the key %v isn't a string: put it in quotes", key)
	}
}

// jsonNumber makes a whole number an integer, as it becomes one when it is written
// as JSON and read again.
func jsonNumber(n float64) (any, error) {
	switch {
	case math.IsNaN(n) || math.IsInf(n, 0):
		return nil, errors.New(".inf and .nan can't be written as JSON: give a number")
	case n == math.Trunc(n) && math.Abs(n) < 1<<63:
		return int64(n), nil
	}
	return n, nil
}
