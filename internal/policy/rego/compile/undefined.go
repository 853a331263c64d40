// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
	"evenkeel.dev/evenkeel/internal/prose"
)

// mostGuesses is for how many names that aren't there it is guessed what was meant.
const mostGuesses = 20

// undefinedData finds each place below data that no module defines. Rules see no
// other data, but for the objects that their policy refers to, so such a place is undefined for ever, and
// a rule that asks for it would never deny: a misspelt import must not pass for a clean object.
func undefinedData(compiler *ast.Compiler, entryFile string) (problems []Problem, lookup *Problem) {
	seen, guesses := map[string]bool{}, mostGuesses
	for _, name := range slices.Sorted(maps.Keys(compiler.Modules)) {
		for _, r := range compiler.Modules[name].Rules {
			ast.WalkRefs(r, func(ref ast.Ref) bool {
				missing := undefined(compiler.RuleTree, ref)
				switch {
				case missing == nil || ref[0].Location == nil:
				case isInventory(missing):
					if lookup == nil {
						at := At(ref[0].Location, entryFile, missing.String())
						lookup = &at
					}
				default:
					meant := ""
					if guesses--; guesses >= 0 {
						meant = meantBy(compiler.RuleTree, missing)
					}
					problem := At(ref[0].Location, entryFile, fmt.Sprintf(
						"nothing defines %s: no module of the policy holds it, and rules see no other data; fix the "+
							"import, or copy its library into lib/, which is looked for in the directory and "+
							"upward from it, or name its directory by --lib%s",
						prose.Shorten(missing.String(), MostOfName), meant))
					if !seen[problem.String()] {
						seen[problem.String()] = true
						problems = append(problems, problem)
					}
				}
				return false
			})
		}
	}
	return problems, lookup
}

// isInventory says that a place is where rules find the objects that they may look up.
func isInventory(missing ast.Ref) bool {
	return missing[1].Value.Compare(ast.String(inventory.Root)) == 0
}

// meantBy asks after what is defined beside a place that isn't.
func meantBy(tree *ast.TreeNode, missing ast.Ref) string {
	node := tree.Child(ast.DefaultRootDocument.Value)
	for _, term := range missing[1 : len(missing)-1] {
		if node = node.Child(term.Value); node == nil {
			return ""
		}
	}
	var beside []string
	for key := range node.Children {
		beside = append(beside, strings.Trim(key.String(), `"`))
	}
	return prose.DidYouMean(strings.Trim(missing[len(missing)-1].Value.String(), `"`), beside)
}

// undefined is the part of a reference up to where the tree of rules ends without
// a rule; nil when the reference leads to a rule or package, or isn't below data.
func undefined(tree *ast.TreeNode, ref ast.Ref) ast.Ref {
	if !ref.HasPrefix(ast.DefaultRootRef) {
		return nil
	}
	node := tree.Child(ast.DefaultRootDocument.Value)
	for i, term := range ref[1:] {
		if node != nil && len(node.Values) > 0 {
			return nil // within the value of a rule
		}
		if _, isText := term.Value.(ast.String); !isText {
			return nil // chosen when it is evaluated
		}
		if node != nil {
			node = node.Child(term.Value)
		}
		if node == nil {
			return ref[:i+2]
		}
	}
	return nil
}
