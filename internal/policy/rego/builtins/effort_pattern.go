// SPDX-License-Identifier: Apache-2.0

package builtins

import (
	"math"
	"regexp"
	"regexp/syntax"
	"runtime"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy/rego/limit"
	"evenkeel.dev/evenkeel/internal/policy/rego/size"
)

const (
	// maxPattern is the longest regular expression.
	maxPattern = 64 << 10
	// mostRepeated is how much longer a counted repetition may make one.
	mostRepeated = 1000
	// mostMatching is how much of the processor it may take to find all matches.
	mostMatching = 200 * time.Millisecond
)

// byPattern is for what looks for a pattern once.
func byPattern(operands []*ast.Term) int64 {
	pattern, _ := operands[0].Value.(ast.String)
	text := int64(1)
	if len(operands) > 1 {
		text = lengthOfText(operands[1])
	}
	return ofMatching(string(pattern), text)
}

// byTemplate takes the delimiters for a part of the pattern.
func byTemplate(operands []*ast.Term) int64 {
	pattern, _ := operands[0].Value.(ast.String)
	text := string(pattern)
	if strings.Contains(text, "{") { // any part of it may be a pattern
		text = "(" + strings.NewReplacer("{", "", "}", "").Replace(text) + ")"
	}
	return max(ofMatching(string(pattern), lengthOfText(operands[1])),
		size.Times(mostRepeated, ofMatching(text, lengthOfText(operands[1]))/mostRepeated),
		size.Times(int64(len(pattern)), lengthOfText(operands[1])))
}

// ofMatching takes each instruction of a pattern for one that is tried at each byte.
func ofMatching(pattern string, text int64) int64 {
	if len(pattern) > maxPattern {
		return math.MaxInt64
	}
	longest := int64(len(pattern)) + 1
	if strings.Contains(pattern, "{") {
		longest *= mostRepeated
	}
	if most := size.Times(longest, text); most <= maxSteps/2 {
		return most
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0 // OPA says what is wrong
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0
	}
	return size.Times(int64(len(program.Inst)), text)
}

// byAllMatches is for what looks for a pattern again behind each match: it may go over the
// rest of the text each time. Where that could be long, it is tried, as far as it may go.
func byAllMatches(operands []*ast.Term) int64 {
	pattern, _ := operands[0].Value.(ast.String)
	text, _ := operands[1].Value.(ast.String)
	return allMatches(string(pattern), string(text))
}

// byReplacingMatches is byAllMatches with the operands in another order.
func byReplacingMatches(operands []*ast.Term) int64 {
	text, _ := operands[0].Value.(ast.String)
	pattern, _ := operands[1].Value.(ast.String)
	return allMatches(string(pattern), string(text))
}

func allMatches(pattern, text string) int64 {
	length := int64(len(text)) + 1
	once := ofMatching(pattern, length)
	if once > maxSteps || size.Times(once, length) <= maxSteps {
		return once
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return 0 // OPA says what is wrong
	}
	late := false
	func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		begin := limit.ThreadTime()
		defer func() { late = recover() != nil }()
		re.ReplaceAllStringFunc(text, func(string) string {
			if limit.ThreadTime()-begin > mostMatching {
				panic("late")
			}
			return ""
		})
	}()
	if late {
		return math.MaxInt64
	}
	return once
}
