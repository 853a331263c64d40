// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	// counted is a number with a word in the plural behind it, or with one word between them.
	counted = regexp.MustCompile(`%d (?:[a-z]+ )?[a-z]+s\b`)
	// notCounted are verbs, and measures, of which there are always many.
	notCounted = regexp.MustCompile(`^%d (?:has|is|was|(?:[a-z]+ )?(?:bytes|characters|digits|elements|levels|values))$`)
	// limit is what stands before a number that bounds something: it is never one.
	limit = regexp.MustCompile(`(?:more than|fewer than|only the first|no end after) $`)
)

// neverOne are further texts whose number is never one, with the reason.
var neverOne = map[string]string{
	"a rollout of %d targets: must be from 0":     "it is negative, or over two thousand million",
	"all %d kinds are installed":                  "the program has more than ten",
	"match.kinds comes to %d entries":             "it is over a limit",
	"%s would have %d entries, and a policy has":  "it is over a limit",
	"the fix comes to %d writes for one object":   "it is over a limit",
	"%d candidates in a row came to nothing":      "it has reached a limit of more than one",
	"%d freezes are more than":                    "it is over a limit",
	"%s holds %d policies, and a source may hold": "it is over a limit",
	"%d policies' breakers are open at once":      "it has reached a limit of two or more",
	"%d of %d outcomes within":                    "a breaker opens by ten at least",
	"is called with %d arguments instead of":      "only a fault of this program says so",
	"a dynamic call has %d arguments instead of":  "only a fault of this program says so",
	"%s has %d files .%s.evenkeel-N beside it":    "it is a limit",
}

// TestMessagesCountOneThingAsOne: people read "1 target", never "1 targets". prose.Count says so. The tools of hack,
// whose numbers are known, aren't looked at.
func TestMessagesCountOneThingAsOne(t *testing.T) {
	looked, said := 0, map[string]bool{}
	for _, dir := range []string{"internal", "pkg", "cmd", "api"} {
		looked += parsedIn(t, dir, false, func(_ string, places *token.FileSet, parsed *ast.File) {
			for _, text := range texts(parsed) {
				for never := range neverOne {
					said[never] = said[never] || strings.Contains(text.value, never)
				}
				for _, found := range manyOf(text.value) {
					t.Errorf("%s: %q counts one thing as many, in %q: use prose.Count, or say in neverOne why it is "+
						"never one", places.Position(text.at), found, text.value)
				}
			}
		})
	}
	if looked < 500 {
		t.Fatalf("%d files only are looked at", looked)
	}
	for never, is := range said {
		if !is {
			t.Errorf("neverOne has %q, which no message says any more: take it out", never)
		}
	}
}

func TestATextThatCountsOneThingAsManyIsFound(t *testing.T) {
	for text, want := range map[string][]string{
		"%d targets wait for a person":               {"%d targets"},
		"%d of %d targets would be undone":           {"%d targets"},
		"%d violating objects can't be fixed":        {"%d violating objects"},
		"and %d problems more":                       {"%d problems"},
		"%d policies were removed, %d objects stay":  {"%d policies", "%d objects"},
		"the text has %d bytes: at most %d are read": nil,
		"more than %d commits lie between":           nil,
		"generation %d was %d":                       nil,
		"%d to come":                                 nil,
		"%s targets":                                 nil,
	} {
		if got := manyOf(text); !slices.Equal(got, want) {
			t.Errorf("in %q are found %q, want %q", text, got, want)
		}
	}
}

// manyOf are the parts of a text that would count one thing as many.
func manyOf(text string) (found []string) {
	for never := range neverOne {
		if strings.Contains(text, never) {
			return nil
		}
	}
	for _, at := range counted.FindAllStringIndex(text, -1) {
		if part := text[at[0]:at[1]]; !notCounted.MatchString(part) && !limit.MatchString(text[:at[0]]) {
			found = append(found, part)
		}
	}
	return found
}

// textAt is a text of the code, with where it begins.
type textAt struct {
	value string
	at    token.Pos
}

// texts are those of a file, each sum of texts as one: a sentence may be broken anywhere.
func texts(file *ast.File) (out []textAt) {
	ast.Inspect(file, func(n ast.Node) bool {
		e, is := n.(ast.Expr)
		if !is {
			return true
		}
		value, whole := textOf(e)
		if !whole {
			return true
		}
		out = append(out, textAt{value, e.Pos()})
		return false
	})
	return out
}

// textOf is the text that an expression stands for, if it is made of literals alone.
func textOf(e ast.Expr) (value string, whole bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		value, err := strconv.Unquote(e.Value)
		return value, err == nil
	case *ast.BinaryExpr:
		before, first := textOf(e.X)
		after, second := textOf(e.Y)
		return before + after, first && second && e.Op == token.ADD
	}
	return "", false
}
