// SPDX-License-Identifier: Apache-2.0

package result

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy/rego/budget"
	"evenkeel.dev/evenkeel/internal/prose"
)

// unknownKeys lists the keys that aren't allowed, quoted and sorted; empty when
// there are none.
func unknownKeys(fields map[string]any, allowed ...string) string {
	var unknown []string
	for key := range fields {
		if !slices.Contains(allowed, key) {
			unknown = append(unknown, fmt.Sprintf("%q", key))
		}
	}
	slices.SortFunc(unknown, cmp.Compare[string])
	return strings.Join(unknown, ", ")
}

// unknownTerms lists the keys of a Rego object that aren't allowed, as unknownKeys
// does.
func unknownTerms(fields ast.Object, allowed ...string) string {
	keys := make(map[string]any, fields.Len())
	fields.Foreach(func(key, _ *ast.Term) {
		if text, ok := key.Value.(ast.String); ok {
			keys[string(text)] = nil
		} else {
			keys[brief(key)] = nil
		}
	})
	return unknownKeys(keys, allowed...)
}

// briefLength is in bytes; an element may be an object of any size.
const briefLength = 200

func brief(element *ast.Term) string {
	if budget.Size(element.Value, maxDetails) > maxDetails {
		return Article(ast.ValueName(element.Value)) + " that is too large to show"
	}
	return prose.Shorten(element.String(), briefLength)
}

// Article puts the indefinite article before a noun.
func Article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}
