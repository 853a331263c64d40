// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"go.yaml.in/yaml/v3"
)

const (
	// mostRepeated is how much longer a counted repetition may make a pattern.
	mostRepeated = 1000
	// mostMatching is how long it may take to find all matches of a pattern.
	mostMatching = 200 * time.Millisecond
	// maxSquares bounds the squares of how many keys each mapping of a YAML text has: all are compared with all.
	maxSquares = 256 << 20
)

// ofPattern is for what looks for a pattern once.
func ofPattern(operands []*ast.Term) error {
	text := ast.InternedTerm("")
	if len(operands) > 1 {
		text = operands[1]
	}
	return atMost("the product of the lengths of pattern and text", matching(operands[0], text), maxProduct)
}

// matching takes each instruction of a pattern for one that is tried at each byte.
func matching(pattern, text *ast.Term) int64 {
	p, _ := pattern.Value.(ast.String)
	if len(p) > maxKeys {
		return maxProduct + 1
	}
	if !strings.Contains(string(p), "{") || times(int64(len(p))*mostRepeated, lengthOf(text)+1) <= maxProduct {
		return times(int64(len(p)), lengthOf(text)+1)
	}
	parsed, err := syntax.Parse(string(p), syntax.Perl)
	if err != nil { // delimiters of a template, or OPA reports it
		return times(int64(len(p))*mostRepeated, lengthOf(text)+1)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0
	}
	return times(int64(len(program.Inst)), lengthOf(text)+1)
}

// ofMatches is for what makes elements of all matches and groups.
func ofMatches(operands []*ast.Term) error {
	pattern, _ := operands[0].Value.(ast.String)
	groups := int64(strings.Count(string(pattern), "(")) + 1
	length := times(lengthOf(operands[1]), groups)
	if err := atMost("the length of the text, times the groups", length, maxParsed); err != nil {
		return err
	}
	return matchedInTime(operands[0], operands[1])
}

// matchedInTime tries a pattern: it is looked for again behind each match, and may go over the rest of the text each
// time. A match of its own ends in time.
func matchedInTime(pattern, text *ast.Term) (err error) {
	once := matching(pattern, text)
	if err := atMost("the product of the lengths of pattern and text", once, maxProduct); err != nil {
		return err
	}
	if times(once, lengthOf(text)) <= maxProduct {
		return nil
	}
	p, _ := pattern.Value.(ast.String)
	t, _ := text.Value.(ast.String)
	re, compileErr := regexp.Compile(string(p))
	if compileErr != nil {
		return nil // OPA reports it
	}
	late := errors.New("its pattern takes too long to find in so long a text; give it less at once")
	begin := now()
	defer func() {
		if recover() != nil {
			err = late
		}
	}()
	re.ReplaceAllStringFunc(string(t), func(string) string {
		if now().Sub(begin) > mostMatching {
			panic(late)
		}
		return ""
	})
	return nil
}

// ofYAML is for a text whose aliases repeat what they stand for, and whose keys are compared with one another.
func ofYAML(operands []*ast.Term) error {
	text, _ := operands[0].Value.(ast.String)
	if err := sizes(maxParsed)(operands); err != nil {
		return err
	}
	keys := int64(strings.Count(string(text), ":"))
	if !strings.Contains(string(text), "*") && keys*keys <= maxSquares {
		return nil
	}
	var document yaml.Node
	if yaml.Unmarshal([]byte(text), &document) != nil {
		return nil // OPA reports it
	}
	y := yamlSize{known: map[*yaml.Node]int64{}}
	if err := atMost("the size of the text with its aliases written out", y.of(&document), maxParsed); err != nil {
		return err
	}
	return atMost("the square of the number of keys", y.squares, maxSquares)
}

// yamlSize measures a YAML document. A node that is its own part counts once: the parser refuses it.
type yamlSize struct {
	known   map[*yaml.Node]int64
	squares int64
}

func (y *yamlSize) of(n *yaml.Node) int64 {
	if bytes, ok := y.known[n]; ok {
		return bytes
	}
	y.known[n] = 0
	bytes := int64(len(n.Value)) + 1
	if n.Alias != nil {
		bytes += y.of(n.Alias)
	}
	for _, child := range n.Content {
		bytes = min(bytes+y.of(child), maxProduct)
	}
	if n.Kind == yaml.MappingNode {
		keys := int64(len(n.Content) / 2)
		y.squares += keys * keys
	}
	y.known[n] = bytes
	return bytes
}

// digits is for numbers that are calculated with, and texts that are read as numbers: the digits of a product are those
// of both factors, and an exponent makes a short text a long number.
func digits(operands []*ast.Term) error {
	for _, operand := range operands {
		number, isNumber := operand.Value.(ast.Number)
		text, isText := operand.Value.(ast.String)
		if isNumber && !fewDigits(string(number)) || isText && !fewDigits(string(text)) {
			return errLongNumber
		}
	}
	return nil
}

// errLongNumber is for a number that takes long to calculate or compare with.
var errLongNumber = fmt.Errorf("a number has more than %d digits", maxDigits)

func longNumberIn(value *ast.Term) (found bool) {
	ast.WalkTerms(value, func(part *ast.Term) bool {
		number, ok := part.Value.(ast.Number)
		found = found || ok && !fewDigits(string(number))
		return found
	})
	return found
}

// ofNumbers is for a collection of numbers, whose product has the digits of all.
func ofNumbers(most int64) func([]*ast.Term) error {
	return func(operands []*ast.Term) (err error) {
		length := int64(0)
		check := func(t *ast.Term) bool {
			if number, ok := t.Value.(ast.Number); ok {
				length += int64(len(number))
			}
			err = digits([]*ast.Term{t})
			return err != nil
		}
		switch v := operands[0].Value.(type) {
		case *ast.Array:
			v.Until(check)
		case ast.Set:
			v.Until(check)
		}
		return cmp.Or(err, atMost("the number of all digits", length, most))
	}
}

// numbersOfRange counts the numbers of a range, from either end.
func numbersOfRange(operands []*ast.Term) error {
	if err := digits(operands); err != nil {
		return err
	}
	var ends [2]int64
	for i := range ends {
		number, ok := operands[i].Value.(ast.Number)
		if !ok {
			return nil // OPA reports it
		}
		if ends[i], ok = number.Int64(); !ok && !strings.Contains(string(number), ".") {
			return errors.New("the ends must be whole numbers of at most 64 bits")
		}
	}
	step := int64(1)
	if len(operands) > 2 {
		if number, ok := operands[2].Value.(ast.Number); ok {
			if n, ok := number.Int64(); ok {
				step = max(n, 1)
			}
		}
	}
	distance := uint64(max(ends[0], ends[1])) - uint64(min(ends[0], ends[1]))
	return atMost("the number of elements", int64(min(distance/uint64(step), maxProduct))+1, maxElements)
}
