// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// The bounds of one call, which nothing stops.
const (
	// maxText is how large a value may be that is written as text, and maxParsed one that is parsed, or divided into an
	// element for every few bytes; in bytes.
	maxText, maxParsed = 4 << 20, 1 << 20
	// maxCompared is how large a value may be whose parts are compared, hashed or sorted, in bytes when written out.
	maxCompared = 16 << 20
	// maxKeys is how large a key, certificate or token may be, in bytes.
	maxKeys = 64 << 10
	// maxElements is how many elements a call may make or go over.
	maxElements = 250_000
	// maxProduct bounds the product of the operands' sizes where the time or the result grows with it.
	maxProduct = 64 << 20
	// maxCopies bounds how often a patch may copy a value into itself.
	maxCopies = 16
)

// limit is the bound of some functions: check reports what is too large of the operands.
type limit struct {
	names, text string
	check       func(operands []*ast.Term) error
}

// limits are the functions that are capped.
func limits() []limit {
	return []limit{
		{"array.concat array.slice array.reverse cast_array object.keys", "the operands hold at most 250,000 elements",
			elements},
		{"array.flatten", "the operand, with those that it holds, holds at most 250,000 elements", nestedElements},
		{"numbers.range numbers.range_step", "at most 250,000 numbers", numbersOfRange},
		{"equal neq gt gte lt lte", "the smaller operand is at most 4 MiB when written out", comparison},
		{"internal.member_2 internal.member_3", "the product of the value's size and the number of elements, or the " +
			"collection, is at most 64 MiB", ofMember},
		{"and or set_diff cast_set intersection minus union max min sort object.remove object.filter",
			"the operands are at most 16 MiB when written out", sizes(maxCompared)},
		{"object.union object.union_n json.marshal yaml.marshal internal.template_string providers.aws.sign_req " +
			"strings.reverse base64.decode base64.encode base64url.decode base64url.encode base64url.encode_no_pad " +
			"hex.decode hex.encode urlquery.decode urlquery.decode_object urlquery.encode urlquery.encode_object " +
			"glob.quote_meta lower upper time.format",
			"the operands are at most 4 MiB when written out", sizes(maxText)},
		{"concat", "the result is at most 4 MiB", ofConcat},
		{"sprintf", "widths, and all arguments for each verb, are at most 64 MiB together", ofSprintf},
		{"json.unmarshal json.is_valid split strings.split_n", "the text is at most 1 MiB; numbers that it is parsed " +
			"into have at most 400 digits", sizes(maxParsed)},
		{"yaml.unmarshal yaml.is_valid", "the text is at most 1 MiB with its aliases written out, and the squares of " +
			"how many keys each mapping has are at most 256 million together", ofYAML},
		{"replace", "the product of the lengths of text and replacement is at most 64 MiB", ofReplace},
		{"regex.replace", "as replace and regex.match; the pattern is found in time", ofRegexReplace},
		{"strings.replace_n trim trim_left trim_right indexof indexof_n object.subset json.marshal_with_options",
			"the product of the operands' sizes is at most 64 MiB", product},
		{"json.patch json.filter json.remove", "the product of the document's size and the number of paths is at " +
			"most 64 MiB, and a patch copies at most 16 times", ofPatch},
		{"regex.match re_match regex.is_valid regex.template_match", "the product of the lengths of pattern, with " +
			"its repetitions, and text is at most 64 MiB", ofPattern},
		{"regex.split regex.find_n regex.find_all_string_submatch_n", "as regex.match; the text, times the groups, " +
			"is at most 1 MiB, and the pattern is found in time", ofMatches},
		{"plus mul div rem abs ceil floor round bits.and bits.or bits.xor bits.negate bits.rsh format_int to_number " +
			"units.parse units.parse_bytes", "numbers have at most 400 digits", digits},
		{"sum", "numbers have at most 400 digits, and 1 MiB together", ofNumbers(maxParsed)},
		{"product", "numbers have at most 400 digits, and 4,096 together", ofNumbers(4096)},
		{"io.jwt.decode io.jwt.decode_verify io.jwt.verify_hs256 io.jwt.verify_hs384 io.jwt.verify_hs512 " +
			"io.jwt.verify_rs256 io.jwt.verify_rs384 io.jwt.verify_rs512 io.jwt.verify_ps256 io.jwt.verify_ps384 " +
			"io.jwt.verify_ps512 io.jwt.verify_es256 io.jwt.verify_es384 io.jwt.verify_es512 io.jwt.verify_eddsa " +
			"crypto.parse_private_keys crypto.x509.parse_certificates crypto.x509.parse_certificate_request " +
			"crypto.x509.parse_keypair crypto.x509.parse_rsa_private_key crypto.x509.parse_and_verify_certificates " +
			"crypto.x509.parse_and_verify_certificates_with_options", "an operand is at most 64 KiB", sizes(maxKeys)},
	}
}

// caps are the limits by the names of functions.
func caps() map[string]limit {
	out := map[string]limit{}
	for _, l := range limits() {
		for _, name := range strings.Fields(l.names) {
			out[name] = l
		}
	}
	return out
}

// init puts the caps before OPA's own functions. OPA looks a function up in a table of the process, which a query can't
// override, so this changes something global, once, before anything is evaluated.
func init() {
	for name, l := range caps() {
		original := topdown.GetBuiltin(name)
		if original == nil {
			panic("OPA has no built-in function " + name)
		}
		if name == ast.JSONUnmarshal.Name {
			original = withoutLongNumbers(name, original)
		}
		ast.BuiltinMap[name].CanSkipBctx = false // the location is in the error
		topdown.RegisterBuiltinFunc(name, capped(name, l.check, original))
	}
}

// capped has a call that is too large fail.
func capped(name string, check func([]*ast.Term) error, original topdown.BuiltinFunc) topdown.BuiltinFunc {
	return func(bctx topdown.BuiltinContext, operands []*ast.Term, iter func(*ast.Term) error) error {
		if err := check(operands); err != nil {
			return refuse(name, bctx.Location, bctx.Cancel, err)
		}
		return original(bctx, operands, iter)
	}
}

// withoutLongNumbers has a call that gives a long number fail.
func withoutLongNumbers(name string, original topdown.BuiltinFunc) topdown.BuiltinFunc {
	return func(bctx topdown.BuiltinContext, operands []*ast.Term, iter func(*ast.Term) error) error {
		return original(bctx, operands, func(t *ast.Term) error {
			if longNumberIn(t) {
				return refuse(name, bctx.Location, bctx.Cancel, errLongNumber)
			}
			return iter(t)
		})
	}
}

// refuse is the error of a call, which the evaluation remembers.
func refuse(name string, at *ast.Location, evaluation topdown.Cancel, why error) error {
	err := &topdown.Error{Code: topdown.BuiltinErr, Location: at, Message: name + ": " + why.Error()}
	if r, ok := evaluation.(interface{ refuse(why error) }); ok {
		r.refuse(err)
	}
	return err
}

func atMost(what string, is, most int64) error {
	if is > most {
		return fmt.Errorf("%s is %d or more: at most %d are allowed; give it less at once", what, is, most)
	}
	return nil
}

// total is how large all operands are when written out, or more than most.
func total(operands []*ast.Term, most int64) (bytes int64) {
	for _, operand := range operands {
		bytes += Size(operand.Value, most)
	}
	return bytes
}

func sizes(most int64) func([]*ast.Term) error {
	return func(operands []*ast.Term) error {
		return atMost("the size of its operands in bytes", total(operands, most), most)
	}
}

// comparison takes as long as the smaller of two values is large.
func comparison(operands []*ast.Term) error {
	smaller := Size(operands[1].Value, maxText)
	if smaller > maxText {
		smaller = Size(operands[0].Value, maxText)
	}
	return atMost("the size of the smaller value in bytes", smaller, maxText)
}

// ofMember compares a value with each element, of which it looks at no more than the value is large.
func ofMember(operands []*ast.Term) error {
	value, collection := operands[len(operands)-2], operands[len(operands)-1]
	if times(Size(value.Value, maxProduct), lengthOf(collection)) <= maxProduct {
		return nil
	}
	return sizes(maxProduct)([]*ast.Term{collection})
}

func elements(operands []*ast.Term) error {
	n := int64(0)
	for _, operand := range operands {
		n += lengthOf(operand)
	}
	return atMost("the number of elements", n, maxElements)
}

func nestedElements(operands []*ast.Term) error {
	n := int64(0)
	if array, ok := operands[0].Value.(*ast.Array); ok {
		array.Foreach(func(element *ast.Term) { n += 1 + lengthOf(element) })
	}
	return atMost("the number of elements", n, maxElements)
}

func product(operands []*ast.Term) error {
	bytes := int64(1)
	for _, operand := range operands {
		bytes = times(bytes, Size(operand.Value, maxProduct))
	}
	return atMost("the product of the sizes of its operands", bytes, maxProduct)
}

// times multiplies two sizes, up to somewhat above maxProduct.
func times(a, b int64) int64 { return min(a, maxProduct+1) * min(b, maxProduct+1) }

func ofConcat(operands []*ast.Term) error {
	separators := times(lengthOf(operands[0]), lengthOf(operands[1]))
	return atMost("the size of its result in bytes", separators+Size(operands[1].Value, maxText), maxText)
}

// ofSprintf takes each verb for all arguments, at its widest.
func ofSprintf(operands []*ast.Term) error {
	format, _ := operands[0].Value.(ast.String)
	verbs := int64(strings.Count(string(format), "%"))
	return atMost("the size of its result in bytes", widths(string(format))+
		times(verbs+1, Size(operands[1].Value, maxProduct)+int64(len(format))), maxProduct)
}

// widths adds up the widths and precisions of a format; `*` takes them from the arguments, up to fmt's own bound.
func widths(format string) (total int64) {
	const widest = 1_000_000 // what fmt allows
	number, inVerb := int64(0), false
	for _, c := range []byte(format) {
		switch {
		case c == '%':
			inVerb, number = !inVerb, 0
		case inVerb && c >= '0' && c <= '9':
			number = min(number*10+int64(c-'0'), widest)
		case inVerb && c == '*':
			total += widest
		case inVerb:
			total, number, inVerb = total+number, 0, strings.IndexByte("+-# .[]", c) >= 0
		}
	}
	return total + number
}

// ofReplace takes every place of the text for one that is replaced.
func ofReplace(operands []*ast.Term) error { return product([]*ast.Term{operands[0], operands[2]}) }

func ofRegexReplace(operands []*ast.Term) error {
	return cmp.Or(ofReplace(operands), matchedInTime(operands[1], operands[0]))
}

// ofPatch is for what changes places of a document one after the other: in a list, all behind them move.
func ofPatch(operands []*ast.Term) error {
	copies := int64(0)
	if patch, ok := operands[1].Value.(*ast.Array); ok {
		patch.Foreach(func(op *ast.Term) {
			if object, ok := op.Value.(ast.Object); ok && object.Get(ast.InternedTerm("from")) != nil {
				copies++
			}
		})
	}
	if err := atMost("the number of copies", copies, maxCopies); err != nil {
		return err
	}
	return atMost("the product of the sizes of its operands",
		times(Size(operands[0].Value, maxProduct), lengthOf(operands[1])+1), maxProduct)
}
