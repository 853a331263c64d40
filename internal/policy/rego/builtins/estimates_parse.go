// SPDX-License-Identifier: Apache-2.0

package builtins

import (
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"go.yaml.in/yaml/v3"

	"evenkeel.dev/evenkeel/internal/policy/rego/size"
)

// ofNumbers holds numbers to a length: the digits of a product are those of both
// factors, so that squaring a few dozen times would fill the memory.
func ofNumbers(operands []*ast.Term) (int64, error) {
	for _, operand := range operands {
		if number, ok := operand.Value.(ast.Number); ok && !size.WithinDigits(string(number)) {
			return 0, fmt.Errorf("a number has more than %d digits", size.MaxDigits)
		}
	}
	return 0, nil
}

// ofMinus is for numbers and sets alike.
func ofMinus(operands []*ast.Term) (int64, error) {
	if _, err := ofNumbers(operands); err != nil {
		return 0, err
	}
	return elements(size.Length(operands[0].Value))
}

// ofAllNumbers is for a collection of numbers whose result has the digits of all.
func ofAllNumbers(operands []*ast.Term) (int64, error) {
	digits := int64(0)
	add := func(element *ast.Term) error {
		number, ok := element.Value.(ast.Number)
		if !ok {
			return nil
		}
		if !size.WithinDigits(string(number)) {
			return fmt.Errorf("a number has more than %d digits", size.MaxDigits)
		}
		if len(number) > len("1000000") {
			digits += int64(len(number))
		}
		return nil
	}
	var err error
	switch collection := operands[0].Value.(type) {
	case *ast.Array:
		err = collection.Iter(add)
	case ast.Set:
		err = collection.Iter(add)
	}
	return digits, err
}

// ofProduct is ofAllNumbers, for the one whose digits add up.
func ofProduct(operands []*ast.Term) (int64, error) {
	if size.Length(operands[0].Value) > size.MaxDigits {
		return 0, fmt.Errorf("more than %d numbers can't be multiplied", size.MaxDigits)
	}
	return ofAllNumbers(operands)
}

// ofQuantity is for a text that is read as a number.
func ofQuantity(operands []*ast.Term) (int64, error) {
	text, _ := operands[0].Value.(ast.String)
	if !size.WithinDigits(string(text)) {
		return 0, fmt.Errorf("the text has more than %d digits", size.MaxDigits)
	}
	return 0, nil
}

// ofWritten is for what writes a value as text, by how much longer than its parts
// the text is at most.
func ofWritten(factor int64) estimate {
	return func(operands []*ast.Term) (int64, error) {
		return size.Times(factor, size.Text(operands[0].Value, maxResult)), nil
	}
}

// ofWrittenPretty lets the prefix and the indentation stand before every part.
func ofWrittenPretty(operands []*ast.Term) (int64, error) {
	bytes := size.Text(operands[0].Value, maxResult)
	return size.Times(3, size.Times(bytes, 1+size.Text(operands[1].Value, maxResult)/8)), nil
}

// ofParsed takes a value for fifty times its text: the shortest elements are of two
// bytes.
func ofParsed(operands []*ast.Term) (int64, error) {
	text, _ := operands[0].Value.(ast.String)
	if len(text) > maxParsed {
		return 0, fmt.Errorf("the text has %d bytes: at most %d are parsed", len(text), maxParsed)
	}
	return int64(len(text)) * 8, nil
}

// ofYAML is ofParsed, with each alias taken for what it stands for.
func ofYAML(operands []*ast.Term) (int64, error) {
	bytes, err := ofParsed(operands)
	text, _ := operands[0].Value.(ast.String)
	if err != nil || !strings.Contains(string(text), "&") || !strings.Contains(string(text), "*") {
		return bytes, err
	}
	var document yaml.Node
	if yaml.Unmarshal([]byte(text), &document) != nil {
		return bytes, nil // OPA says what is wrong
	}
	if expanded := yamlSize(&document, map[*yaml.Node]int64{}); expanded > maxParsed {
		return 0, fmt.Errorf("with its aliases written out, the text has %d bytes: at most %d are parsed", expanded,
			maxParsed)
	}
	return bytes, nil
}

// yamlSize is about the length of a document without aliases. A node that is its
// own part counts once: the parser refuses it.
func yamlSize(n *yaml.Node, known map[*yaml.Node]int64) int64 {
	if bytes, ok := known[n]; ok {
		return bytes
	}
	known[n] = 0
	bytes := int64(len(n.Value)) + 1
	if n.Alias != nil {
		bytes = size.Plus(bytes, yamlSize(n.Alias, known))
	}
	for _, child := range n.Content {
		bytes = size.Plus(bytes, yamlSize(child, known))
	}
	known[n] = bytes
	return bytes
}

// ofKeys is for what parses keys, certificates and tokens, whose arithmetic grows
// with the square of their length and more.
func ofKeys(operands []*ast.Term) (int64, error) {
	for _, operand := range operands {
		if bytes := size.Text(operand.Value, maxKeys); bytes > maxKeys {
			return 0, fmt.Errorf("an operand is longer than the %d bytes that are parsed", maxKeys)
		}
	}
	return 0, nil
}

// ofPatch is for what changes places of a value: each copies the way there. Only
// copies make it larger, each by all of it at most.
func ofPatch(operands []*ast.Term) (int64, error) {
	bytes := size.Plus(size.Text(operands[0].Value, maxResult), size.Text(operands[1].Value, maxResult))
	patch, ok := operands[1].Value.(*ast.Array)
	if !ok {
		return bytes, nil
	}
	copies := 0
	_ = patch.Iter(func(op *ast.Term) error {
		if object, ok := op.Value.(ast.Object); ok {
			if verb := object.Get(ast.InternedTerm("op")); verb != nil && verb.Value.Compare(ast.String("copy")) == 0 {
				copies++
			}
		}
		return nil
	})
	for range min(copies, 64) {
		bytes = size.Times(bytes, 2)
	}
	return bytes, nil
}
