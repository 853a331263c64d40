// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/prose"
)

// helpFor is what to do about a message of OPA's.
type helpFor struct {
	code, part, help string
}

// helps are OPA's commonest messages, the more special first.
func helps() []helpFor {
	return []helpFor{
		{ast.ParseErr, "keyword is required",
			"that is the syntax of Rego v0: write `deny contains msg if { … }`; `opa fmt --write --v0-v1 FILE` " +
				"rewrites it"},
		{ast.ParseErr, "",
			"the mistake is often just before this place: look for a bracket, a quote or a comma that is " +
				"missing there"},
		{ast.UnsafeVarErr, "", "nothing gives the variable a value: correct its spelling, bind it (`some x in …`, " +
			"`x := …`), or move it out of `not`"},
		{ast.TypeErr, "undefined function data.",
			"no module of the policy has that function: copy its library into lib/, " +
				"which is looked for in the directory and upward from it, or name its directory by --lib"},
		{ast.TypeErr, "undefined function",
			"neither Rego nor the policy has that function: correct its spelling; one of a " +
				"library is called by its import, as in `import data.lib.pods`, `pods.containers`"},
		{ast.TypeErr, "conflicting rules",
			"rules of one name must be of one form: all sets (`contains`), all values, or " +
				"functions of as many arguments; rename one"},
		{ast.TypeErr, "multiple default rules", "a rule has one default: remove the others"},
		{ast.TypeErr, "invalid argument",
			"give the function values of the types that it wants; `is_string(x)` and the like keep others from it"},
		{ast.TypeErr, "arity", "give the function as many arguments as it has"},
		{ast.TypeErr, "match error", "the two sides can never be equal: compare values of one type"},
		{ast.RecursionErr, "", "a rule can't ask for itself: `walk(x, [path, value])` goes through what is nested"},
		{ast.CompileErr, "assigned above",
			"a variable gets its value once: give the second another name, or compare by =="},
		{ast.CompileErr, "declared above", "declare the variable once: give the second another name, or remove it"},
		{ast.CompileErr, "declared var", "use the variable, or remove its declaration"},
		{ast.CompileErr, "assigned var", "use the variable, or write `_` in its place"},
		{ast.CompileErr, "import", "remove the import, or use it"},
		{ast.CompileErr, "referenced above", "declare the variable before its first use, or give it another name"},
	}
}

// EvaluationHelp is one line on what to do about an error of an evaluation of OPA's; empty where
// its message says all that is known.
func EvaluationHelp(message string) string {
	const (
		rule = "two bodies of the rule gave different values: join them by else, or gather the values by contains"
		call = "two bodies of the function gave different values for the same arguments: let them exclude one " +
			"another, or join them by else"
		key = "one key got two values: make the key unique, for example by the index, or gather the values of each " +
			"key in a set"
	)
	for _, known := range []struct{ part, help string }{
		{"produced conflicting values for the same inputs", call},
		{"functions must not produce multiple outputs", call},
		{"produced conflicting values", rule},
		{"complete rules must not produce multiple outputs", rule},
		{"object keys must be unique", key},
	} {
		if strings.Contains(message, known.part) {
			return known.help
		}
	}
	return ""
}

func functions() []string {
	names := make([]string, len(ast.Builtins))
	for i, b := range ast.Builtins {
		names[i] = b.Name
	}
	return names
}

// helpOf is one line on what to do about an error of OPA's; empty where its message
// says all that is known.
func helpOf(code, message string) string {
	for _, known := range helps() {
		if code == known.code && strings.Contains(message, known.part) {
			name, _ := strings.CutPrefix(message, "undefined function ")
			return known.help + prose.DidYouMean(name, functions())
		}
	}
	return ""
}
