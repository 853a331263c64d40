// SPDX-License-Identifier: Apache-2.0

package builtins

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"go.yaml.in/yaml/v3"

	"evenkeel.dev/evenkeel/internal/policy/rego/size"
)

// maxSteps bounds what one call may do, in steps of about five nanoseconds: it isn't
// stopped in between.
const maxSteps = 64 << 20

// deepest is how deep keys are looked for.
const deepest = 8

// effort says about how many steps a call takes, where that grows faster than what it is
// given.
type effort func(operands []*ast.Term) int64

// bounded is an estimate that refuses a call which takes too many steps.
func (e effort) bounded(then estimate) estimate {
	return func(operands []*ast.Term) (int64, error) {
		if steps := e(operands); steps > maxSteps {
			return 0, fmt.Errorf(
				"it would take too long, about %.2g steps: at most %d are allowed; give it less at once",
				float64(steps), int64(maxSteps))
		}
		return then(operands)
	}
}

func ofNothing([]*ast.Term) (int64, error) { return 0, nil }

// addSlow adds what gives no more than it is given, but may take long for it.
func addSlow(add group) {
	add("its time grows with both texts", effort(byBothTexts).bounded(ofNothing), "trim", "trim_left", "trim_right",
		"indexof")
	add("it looks for each part everywhere", effort(byBothValues).bounded(ofNothing), "object.subset")
	add("its time grows with the text and the pattern", effort(byPattern).bounded(ofNothing), "regex.match", "re_match",
		"regex.is_valid")
	add("its time grows with the text and the pattern", effort(byTemplate).bounded(ofNothing), "regex.template_match")
}

// lengthOfText is that of an operand that is a text, at least 1.
func lengthOfText(t *ast.Term) int64 {
	text, _ := t.Value.(ast.String)
	return max(int64(len(text)), 1)
}

// byBothTexts is for what looks for one text at each place of another.
func byBothTexts(operands []*ast.Term) int64 {
	return size.Times(lengthOfText(operands[0]), lengthOfText(operands[1]))
}

// byReplacingOne is byBothTexts for what skips as it looks.
func byReplacingOne(operands []*ast.Term) int64 { return byBothTexts(operands) / 4 }

// byReplacing is byBothTexts for the longest of some texts.
func byReplacing(operands []*ast.Term) int64 {
	patterns, ok := operands[0].Value.(ast.Object)
	if !ok {
		return 0 // OPA says what is wrong
	}
	longest := int64(1)
	for _, entry := range size.Entries(patterns) {
		longest = max(longest, lengthOfText(entry.Key()))
	}
	return size.Times(lengthOfText(operands[1]), longest)
}

// byBothValues is for what compares each part of one value with each of another.
func byBothValues(operands []*ast.Term) int64 {
	return size.Times(size.Units(operands[0].Value), size.Units(operands[1].Value))
}

// bySorting compares each element with as many others as it is sorted among.
func bySorting(operands []*ast.Term) int64 {
	return size.Times(size.Units(operands[0].Value), int64(bits.Len64(uint64(size.Length(operands[0].Value)))))
}

// byPatching changes places of a value one after the other: in a list, all behind them move.
func byPatching(operands []*ast.Term) int64 {
	if size.Length(operands[1].Value) <= size.FewKeys {
		return 0
	}
	return size.Times(4, size.Times(size.Units(operands[0].Value)+size.Length(operands[1].Value),
		size.Length(operands[1].Value)))
}

// byKeys puts the keys of all operands, and of what they hold, into one collection.
func byKeys(operands []*ast.Term) int64 {
	var keys []*ast.Term
	for _, operand := range operands {
		keys = keysWithin(operand.Value, keys, 0)
	}
	others := size.Collisions(keys)
	if others == 0 {
		return 0
	}
	largest := int64(1)
	for _, key := range keys {
		largest = max(largest, size.Units(key.Value))
	}
	return size.Times(others, largest)
}

// keysWithin adds the keys of a value to others, and those of what it holds, as deep as
// what merges values goes at a price.
func keysWithin(v ast.Value, keys []*ast.Term, depth int) []*ast.Term {
	if len(keys) > maxElements || depth > deepest {
		return keys
	}
	switch v := v.(type) {
	case ast.Set:
		elements := size.Elements(v)
		keys = append(keys, elements...)
		for _, element := range elements {
			keys = keysWithin(element.Value, keys, depth+1)
		}
	case ast.Object:
		for _, entry := range size.Entries(v) {
			keys = keysWithin(entry.Value().Value, append(keys, entry.Key()), depth+1)
		}
	case *ast.Array:
		for i := range v.Len() {
			keys = keysWithin(v.Elem(i).Value, append(keys, v.Elem(i)), depth+1)
		}
	}
	return keys
}

// byMapping compares the keys of each mapping of a YAML text with one another.
func byMapping(operands []*ast.Term) int64 {
	const few = 4096
	text, _ := operands[0].Value.(ast.String)
	if strings.Count(string(text), ":") < few || len(text) > maxParsed {
		return 0
	}
	var document yaml.Node
	if yaml.Unmarshal([]byte(text), &document) != nil {
		return 0 // OPA says what is wrong
	}
	total := int64(0)
	var count func(n *yaml.Node)
	count = func(n *yaml.Node) {
		if n.Kind == yaml.MappingNode {
			keys := int64(len(n.Content) / 2)
			total = size.Plus(total, size.Times(keys, keys)/4)
		}
		for _, part := range n.Content {
			count(part)
		}
	}
	count(&document)
	return total
}
