// SPDX-License-Identifier: Apache-2.0

package builtins

import (
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy/rego/size"
)

// estimates are the built-ins that are capped.
func estimates() map[string]limited {
	all := map[string]limited{}
	add := func(kind limited) group {
		return func(why string, e estimate, names ...string) {
			for _, name := range names {
				kind.estimate, kind.why = e, why
				all[name] = kind
			}
		}
	}
	addTexts(add(limited{metered: true}))
	addCollections(add(limited{metered: true, gathers: true}))
	addNumbers(add(limited{}))
	addSlow(add(limited{}))
	return all
}

// group caps some built-ins alike.
type group func(why string, e estimate, names ...string)

func addTexts(add group) {
	add("it joins texts that may be one text many times", ofConcat, "concat")
	add("it writes arguments at any width and any number of times", ofSprintf, "sprintf")
	add("it writes values into a text", ofTemplate, "internal.template_string")
	add("it puts a long text in many places", effort(byReplacingOne).bounded(ofReplace), "replace")
	add("it puts a long text in many places", effort(byReplacing).bounded(ofReplaceN), "strings.replace_n")
	add("it puts a long text in many places", effort(byReplacingMatches).bounded(ofRegexReplace), "regex.replace")
	add("it makes an element of every few bytes", ofSplit, "split", "strings.split_n")
	add("it makes an element of every few bytes", effort(byBothTexts).bounded(ofSplit), "indexof_n")
	add("it makes an element of every few bytes", effort(byAllMatches).bounded(ofMatches), "regex.split",
		"regex.find_n", "regex.find_all_string_submatch_n")
	add("it rewrites a text", ofText(1), "strings.reverse", "base64.decode", "base64url.decode", "hex.decode",
		"urlquery.decode", "urlquery.decode_object", "glob.quote_meta")
	add("it rewrites a text, and longer", ofText(2), "base64.encode", "base64url.encode", "base64url.encode_no_pad",
		"hex.encode")
	add("it rewrites a text, and longer", ofText(3), "urlquery.encode", "urlquery.encode_object", "lower", "upper")
	add("its layout may be long", ofText(8), "time.format")
	add("it writes out all of a value, and shared parts each time", ofWritten(2), "json.marshal",
		"providers.aws.sign_req")
	add("it writes out all of a value, and shared parts each time", ofWritten(4), "yaml.marshal")
	add("it writes out all of a value, with any indentation", ofWrittenPretty, "json.marshal_with_options")
}

func addCollections(add group) {
	add("it makes an element of every few bytes", ofParsed, "json.unmarshal", "json.is_valid")
	add("its aliases repeat what they stand for", effort(byMapping).bounded(ofYAML), "yaml.unmarshal", "yaml.is_valid")
	add("it makes as many elements as the numbers say", ofRange, "numbers.range", "numbers.range_step")
	add("applied to its own result, it grows without bound", ofElements, "array.concat", "array.slice", "array.reverse",
		"object.keys",
		"cast_array")
	add("applied to its own result, it grows without bound", effort(byKeys).bounded(ofElements), "object.remove",
		"object.filter", "and", "or", "set_diff", "cast_set")
	add("it compares each element with many others", effort(bySorting).bounded(ofElements), "sort")
	add("applied to its own result, it grows without bound", ofNested, "array.flatten")
	add("applied to its own result, it grows without bound", effort(byKeys).bounded(ofNested), "union", "intersection")
	add("it writes out what objects share", effort(byKeys).bounded(ofMerged), "object.union", "object.union_n")
	add("a patch may copy the whole into itself", effort(byPatching).bounded(ofPatch), "json.patch", "json.filter",
		"json.remove")
	add("applied to its own result, a number grows without bound; so does the copy of a set",
		effort(byKeys).bounded(ofMinus), "minus")
}

func addNumbers(add group) {
	add("applied to its own result, a number grows without bound", ofNumbers, "plus", "mul", "div", "rem", "abs",
		"ceil", "floor", "round",
		"bits.and", "bits.or", "bits.xor", "bits.negate", "bits.rsh", "format_int")
	add("its result may have the digits of all numbers", ofAllNumbers, "sum")
	add("its result has the digits of all numbers", ofProduct, "product")
	add("an exponent makes a short text a long number", ofQuantity, "to_number", "units.parse", "units.parse_bytes")
	add("the cost of keys grows faster than their length", ofKeys, "io.jwt.decode", "io.jwt.decode_verify",
		"io.jwt.verify_hs256", "io.jwt.verify_hs384", "io.jwt.verify_hs512", "io.jwt.verify_rs256",
		"io.jwt.verify_rs384", "io.jwt.verify_rs512",
		"io.jwt.verify_ps256", "io.jwt.verify_ps384", "io.jwt.verify_ps512", "io.jwt.verify_es256",
		"io.jwt.verify_es384", "io.jwt.verify_es512", "io.jwt.verify_eddsa",
		"crypto.parse_private_keys", "crypto.x509.parse_certificates", "crypto.x509.parse_certificate_request",
		"crypto.x509.parse_keypair",
		"crypto.x509.parse_rsa_private_key", "crypto.x509.parse_and_verify_certificates",
		"crypto.x509.parse_and_verify_certificates_with_options")
}

// ofText is for what writes a text anew, by how much longer at most.
func ofText(factor int64) estimate {
	return func(operands []*ast.Term) (int64, error) {
		return size.Times(factor, size.Text(operands[0].Value, maxResult)), nil
	}
}

func ofConcat(operands []*ast.Term) (int64, error) {
	separator, _ := operands[0].Value.(ast.String)
	collection := operands[1].Value
	return size.Plus(size.Text(collection, maxResult), size.Times(int64(len(separator)), size.Length(collection))), nil
}

// ofSprintf takes each verb for the longest argument, at its widest.
func ofSprintf(operands []*ast.Term) (int64, error) {
	format, _ := operands[0].Value.(ast.String)
	arguments, ok := operands[1].Value.(*ast.Array)
	if !ok {
		return 0, nil // OPA says what is wrong
	}
	verbs := int64(strings.Count(string(format), "%"))
	if verbs == 0 {
		return size.Plus(int64(len(format)), size.Text(arguments, maxResult)), nil
	}
	total := size.Plus(int64(len(format)), widths(string(format)))
	if indexed := strings.Contains(string(format), "["); !indexed {
		return size.Plus(total, size.Times(4, size.Text(arguments, maxResult))), nil
	}
	longest := int64(0)
	for i := range arguments.Len() {
		longest = max(longest, size.Text(arguments.Elem(i).Value, maxResult))
	}
	return size.Plus(total, size.Times(4, size.Times(verbs, longest))), nil
}

// widths adds up the widths and precisions that a format asks for; `*` takes them
// from the arguments, up to fmt's own bound.
func widths(format string) int64 {
	const widest = 1_000_000 // what fmt allows
	total, number := int64(0), int64(0)
	inVerb := false
	for i := range len(format) {
		switch c := format[i]; {
		case c == '%':
			inVerb, number = !inVerb, 0
		case inVerb && c >= '0' && c <= '9':
			number = min(number*10+int64(c-'0'), widest)
		case inVerb && c == '*':
			total += widest
		case inVerb && strings.IndexByte("+-# .[]", c) >= 0:
			total, number = total+number, 0
		case inVerb:
			total, number, inVerb = total+number, 0, false
		}
	}
	return total + number
}

// ofTemplate is for a text with values in it: sets of at most one value each.
func ofTemplate(operands []*ast.Term) (int64, error) {
	return size.Text(operands[0].Value, maxResult), nil
}

func ofReplace(operands []*ast.Term) (int64, error) {
	text, _ := operands[0].Value.(ast.String)
	old, _ := operands[1].Value.(ast.String)
	replacement, _ := operands[2].Value.(ast.String)
	if len(replacement) <= len(old) {
		return int64(len(text)), nil
	}
	return size.Plus(int64(len(text)),
		size.Times(int64(strings.Count(string(text), string(old))), int64(len(replacement)))), nil
}

// ofReplaceN takes the shortest pattern for every place, and the longest
// replacement.
func ofReplaceN(operands []*ast.Term) (int64, error) {
	patterns, ok := operands[0].Value.(ast.Object)
	text, isText := operands[1].Value.(ast.String)
	if !ok || !isText {
		return 0, nil // OPA says what is wrong
	}
	shortest, longest := int64(len(text)), int64(0)
	patterns.Foreach(func(old, replacement *ast.Term) {
		from, _ := old.Value.(ast.String)
		to, _ := replacement.Value.(ast.String)
		shortest, longest = min(shortest, int64(len(from))), max(longest, int64(len(to)))
	})
	places := int64(len(text))/max(shortest, 1) + 1
	return size.Plus(int64(len(text)), size.Times(places, longest)), nil
}

// ofRegexReplace takes every place in the text for a match, and lets each `$` of
// the replacement repeat all of the text once.
func ofRegexReplace(operands []*ast.Term) (int64, error) {
	text, _ := operands[0].Value.(ast.String)
	replacement, _ := operands[2].Value.(ast.String)
	groups := int64(strings.Count(string(replacement), "$"))
	length := int64(len(text))
	return size.Plus(size.Plus(length, size.Times(length+1, int64(len(replacement)))), size.Times(groups, length)), nil
}

// ofSplit counts the parts.
func ofSplit(operands []*ast.Term) (int64, error) {
	text, _ := operands[0].Value.(ast.String)
	delimiter, _ := operands[1].Value.(ast.String)
	return elements(int64(strings.Count(string(text), string(delimiter))) + 1)
}

// ofMatches takes every place in the text for a match, with all groups.
func ofMatches(operands []*ast.Term) (int64, error) {
	pattern, _ := operands[0].Value.(ast.String)
	text, _ := operands[1].Value.(ast.String)
	matches := int64(len(text)) + 1
	if len(operands) > 2 {
		if number, ok := operands[2].Value.(ast.Number); ok {
			if n, ok := number.Int64(); ok && n >= 0 {
				matches = min(matches, n)
			}
		}
	}
	return elements(size.Times(matches, int64(strings.Count(string(pattern), "("))+1))
}

func elements(n int64) (int64, error) {
	if n > maxElements {
		return 0, fmt.Errorf("its result may have %d elements: at most %d are allowed", n, maxElements)
	}
	return n * bytesOfElement, nil
}

// ofElements is for what makes a collection of the elements of its operands.
func ofElements(operands []*ast.Term) (int64, error) {
	total := int64(0)
	for _, operand := range operands {
		total = size.Plus(total, size.Length(operand.Value))
	}
	return elements(total)
}

// ofMerged is for what merges objects to any depth: parts that they share are
// written anew.
func ofMerged(operands []*ast.Term) (int64, error) {
	total := int64(0)
	for _, operand := range operands {
		total = size.Plus(total, size.Times(4, size.Text(operand.Value, maxResult)))
	}
	return total, nil
}

// ofNested is for what makes one collection of those in a collection.
func ofNested(operands []*ast.Term) (int64, error) {
	total := size.Length(operands[0].Value)
	add := func(element *ast.Term) error {
		total = size.Plus(total, size.Length(element.Value))
		return nil
	}
	switch outer := operands[0].Value.(type) {
	case *ast.Array:
		_ = outer.Iter(add)
	case ast.Set:
		_ = outer.Iter(add)
	}
	return elements(total)
}

// ofRange counts the numbers of a range, from either end.
func ofRange(operands []*ast.Term) (int64, error) {
	if _, err := ofNumbers(operands); err != nil {
		return 0, err
	}
	from, ok := wholeOf(operands[0])
	to, alsoOK := wholeOf(operands[1])
	if !ok || !alsoOK {
		return 0, errors.New("the ends must be whole numbers of at most 64 bits")
	}
	step := int64(1)
	if len(operands) > 2 {
		if s, ok := wholeOf(operands[2]); ok {
			step = max(s, 1)
		}
	}
	distance := uint64(to) - uint64(from)
	if from > to {
		distance = uint64(from) - uint64(to)
	}
	return elements(int64(min(distance/uint64(step), maxElements)) + 1)
}

func wholeOf(t *ast.Term) (int64, bool) {
	number, ok := t.Value.(ast.Number)
	if !ok {
		return 0, true // OPA says what is wrong
	}
	n, ok := number.Int64()
	if exact, read := new(big.Rat).SetString(string(number)); !ok && read && !exact.IsInt() {
		return 0, true // likewise
	}
	return n, ok
}
