// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// ErrByHand is in the chain of the error when the text is written in a way in which
// the change can't be made without touching more: anchors that others use, say.
var ErrByHand = errors.New("it is written in a way that can't be changed automatically: change it by hand")

// maxSteps bounds the splices of one Set; each takes one difference away.
const maxSteps = 10000

// Set changes the text of one YAML document, or JSON value, so that what the JSON
// Pointer leads to holds want, and nothing else differs. want is a JSON value.
func Set(text []byte, pointer string, want any) ([]byte, error) {
	goal, err := decode(text)
	if err != nil {
		return nil, err
	}
	if want, err = normal(want); err != nil {
		return nil, err
	}
	tokens := tokensOf(pointer)
	if goal, err = with(goal, tokens, want); err != nil {
		return nil, err
	}
	for range maxSteps {
		have, err := decode(text)
		if err != nil {
			return nil, fmt.Errorf("%w (a change broke it: %w)", ErrByHand, err)
		}
		if reflect.DeepEqual(have, goal) {
			return text, nil
		}
		next, err := step(text, tokens, have, want)
		if err != nil {
			return nil, err
		}
		text = next
	}
	return nil, fmt.Errorf("%w (no end after %d changes)", ErrByHand, maxSteps)
}

// step makes one difference less.
func step(text []byte, tokens []string, have, want any) ([]byte, error) {
	page, err := layOut(text)
	if err != nil {
		return nil, err
	}
	at := &entry{value: page.root, start: page.root.start, colon: page.root.start, root: true}
	for _, token := range tokens {
		if at, have, err = descend(at.value, token, have); err != nil {
			return nil, err
		}
	}
	change, err := page.difference(at, have, want)
	if err != nil {
		return nil, err
	}
	return change.apply(text), nil
}

func descend(p *part, token string, have any) (*entry, any, error) {
	switch v := have.(type) {
	case map[string]any:
		if e := p.member(token); e != nil {
			return e, v[token], nil
		}
	case []any:
		if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(v) && i < len(p.entries) {
			return p.entries[i], v[i], nil
		}
	}
	return nil, nil, fmt.Errorf("%w (%q isn't written where it is)", ErrByHand, token)
}

// with is the value with another one at the pointer; it isn't changed itself.
func with(value any, tokens []string, want any) (any, error) {
	if len(tokens) == 0 {
		return want, nil
	}
	var err error
	switch v := value.(type) {
	case map[string]any:
		if _, found := v[tokens[0]]; found {
			v[tokens[0]], err = with(v[tokens[0]], tokens[1:], want)
			return v, err
		}
	case []any:
		if i, numberErr := strconv.Atoi(tokens[0]); numberErr == nil && i >= 0 && i < len(v) {
			v = slices.Clone(v)
			v[i], err = with(v[i], tokens[1:], want)
			return v, err
		}
	}
	return nil, fmt.Errorf("there is nothing at %q", strings.Join(tokens, "/"))
}

func tokensOf(pointer string) []string {
	if pointer == "" {
		return nil
	}
	tokens := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, token := range tokens {
		tokens[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
	}
	return tokens
}

// decode reads a document as kubectl does. A key that is written twice is an error.
func decode(text []byte) (any, error) {
	raw, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	return number(raw)
}

// normal is a JSON value in the form that decode gives.
func normal(value any) (any, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("write the value as JSON: %w", err)
	}
	return number(raw)
}

func number(raw []byte) (any, error) {
	var value any
	if err := utiljson.Unmarshal(raw, &value); err != nil {
		return nil, fmt.Errorf("read the value: %w", err)
	}
	return value, nil
}

// Holds says whether something is written at the pointer.
func Holds(text []byte, pointer string) bool {
	value, err := decode(text)
	if err != nil {
		return false
	}
	for _, token := range tokensOf(pointer) {
		switch v := value.(type) {
		case map[string]any:
			child, found := v[token]
			if !found {
				return false
			}
			value = child
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return false
			}
			value = v[i]
		default:
			return false
		}
	}
	return true
}
