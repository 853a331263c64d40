// SPDX-License-Identifier: Apache-2.0

// Package compiledtest writes policies of everything that Rego has, by which tests hold what evaluates and reads
// policies against topdown. Start at WritePolicy.
package compiledtest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/pkg/rego/compiled/planner"
)

// writer writes a small policy of everything that Rego has. A rule refers to those before it only, so that few
// policies are recursive; one that doesn't compile is left out.
type writer struct {
	t *rapid.T
	// rules and functions are those that were written already.
	rules []string
	// functions are the calls that may be written, with %s for each argument.
	functions []string
	// vars are the variables in scope, and names counts them.
	vars  []string
	names int
	// keys are those in the heads of the rule that is written; an empty one is computed.
	keys [2]string
}

// WritePolicy gives a module of package test that compiles, and the names of its rules. They read what Inputs and
// Data have, among other things. One policy in ten has rules that the compiled engine leaves to topdown.
func WritePolicy(t *rapid.T) (module string, rules []string) {
	w := &writer{t: t}
	module = "package test\n"
	fits := func(c *ast.Compiler) bool { return planner.NeedsTopdown(c) == "" }
	if w.one(10) {
		fits = func(*ast.Compiler) bool { return true }
	}
	for range w.upTo(6) + 5 {
		before := *w
		written := ""
		if w.one(4) {
			written = w.aFunction()
		} else {
			written = strings.Join(w.aRule(), "\n\n")
		}
		with := module + "\n" + used(written) + "\n"
		if c, err := ast.CompileModules(map[string]string{"test.rego": with}); err != nil || !fits(c) {
			w.rules, w.functions = before.rules, before.functions
			continue
		}
		module = with
	}
	return module, w.rules
}

// used adds a use of each variable that nothing uses, or takes its name away: such policies don't compile.
func used(rules string) string {
	unused := map[string]bool{}
	for _, name := range regexp.MustCompile(`\bv\d+\b`).FindAllString(rules, -1) {
		_, again := unused[name]
		unused[name] = !again
	}
	rules = regexp.MustCompile(`(?m)^\t(v\d+) := .*$`).ReplaceAllStringFunc(rules, func(line string) string {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if unused[name] {
			unused[name] = false
			line += "\n\t[" + name + "] != []"
		}
		return line
	})
	return regexp.MustCompile(`\bv\d+\b`).ReplaceAllStringFunc(rules, func(name string) string {
		if unused[name] {
			return "_"
		}
		return name
	})
}

func (w *writer) upTo(n int) int { return rapid.IntRange(0, n).Draw(w.t, "n") }

// one is true once in n times.
func (w *writer) one(n int) bool { return w.upTo(n-1) == 0 }

func (w *writer) of(choices ...string) string { return rapid.SampledFrom(choices).Draw(w.t, "choice") }

func (w *writer) fresh() string {
	w.names++
	return fmt.Sprintf("v%d", w.names)
}

// aRule writes the definitions of one rule, of one kind mostly.
func (w *writer) aRule() []string {
	name := fmt.Sprintf("r%d", len(w.rules))
	kind := w.upTo(11)
	// All definitions below a computed key have the same keys: OPA's checker of types recurses for ever where they
	// overlap, and policies that do are refused.
	w.keys = [2]string{w.of("", "", `"a"`, `"b"`, "1"), w.of("", "", `"a"`, `"b"`, "1")}
	var out []string
	for range w.upTo(2) + 1 {
		if kind < 5 && w.one(40) {
			kind = w.upTo(4)
		}
		w.vars = nil
		body := w.body(3)
		out = append(out, w.definition(name, kind, body))
	}
	if kind == 0 && w.one(2) {
		w.vars = nil
		value := w.of(w.scalar(), "[x | some x in input.list]", "{}")
		out = append(out, fmt.Sprintf("default %s := %s", name, value))
	}
	w.rules = append(w.rules, name)
	return out
}

func (w *writer) definition(name string, kind int, body string) string {
	tail := fmt.Sprintf(" if {\n%s}", body)
	switch kind {
	case 0, 1:
		return name + " := " + w.term(1) + tail + w.otherwise(nil)
	case 2, 3:
		return name + " contains " + w.element() + tail
	case 4:
		return fmt.Sprintf("%s[%s] := %s%s", name, w.key(), w.term(1), tail)
	case 5:
		return fmt.Sprintf("%s[%s][%s] := %s%s", name, w.keyAt(0), w.keyAt(1), w.term(1), tail)
	case 6:
		return fmt.Sprintf("%s[%s] contains %s%s", name, w.keyAt(0), w.element(), tail)
	case 7:
		return fmt.Sprintf("%s.%s := %s%s", name, w.of("a", "b"), w.term(1), tail)
	case 8:
		return fmt.Sprintf("%s[%s].%s := %s%s", name, w.keyAt(0), w.of("a", "b"), w.term(0), tail)
	default:
		return w.longDefinition(name, kind, tail)
	}
}

// longDefinition is one of three keys, or of a text before a computed one.
func (w *writer) longDefinition(name string, kind int, tail string) string {
	switch kind {
	case 9:
		return fmt.Sprintf("%s.%s[%s] := %s%s", name, w.of("a", "b"), w.keyAt(0), w.term(1), tail)
	case 10:
		return fmt.Sprintf("%s.a[%s] contains %s%s", name, w.keyAt(0), w.element(), tail)
	default:
		return fmt.Sprintf("%s[%s].a[%s] := %s%s", name, w.keyAt(0), w.keyAt(1), w.term(0), tail)
	}
}

// element is what a rule puts into a set. No function is called there: where such a set is asked for one element,
// topdown of OPA v1.22.2 asks the function for it, and takes what it gives by else or default though another clause
// gives something else.
func (w *writer) element() string {
	if term := w.term(1); !regexp.MustCompile(`\bf\d+\(`).MatchString(term) {
		return term
	}
	return w.leaf()
}

// otherwise is what a rule gives else, up to twice, with some variables in scope; empty most of the time.
func (w *writer) otherwise(vars []string) (out string) {
	for range 2 {
		if !w.one(3) {
			return out
		}
		w.vars = slices.Clone(vars)
		if w.one(4) {
			return out + " else := " + w.scalar()
		}
		body := w.body(2)
		out += fmt.Sprintf(" else := %s if {\n%s}", w.term(1), body)
	}
	return out
}

// key is a variable where there is one, because what stands in a head must be safe.
func (w *writer) key() string {
	if len(w.vars) > 0 && !w.one(3) {
		return w.of(w.vars...)
	}
	return w.of(`"a"`, `"b"`, "1", "input.name")
}

// keyAt is the constant that the rule has there, or a computed one.
func (w *writer) keyAt(i int) string {
	switch {
	case w.keys[i] != "":
		return w.keys[i]
	case len(w.vars) > 0:
		return w.of(w.vars...)
	default:
		return "input.name"
	}
}

func (w *writer) anyOf(names []string, otherwise string) string {
	if len(names) == 0 {
		return otherwise
	}
	return w.of(names...)
}

// Inputs are documents of the form that the rules expect, and one that isn't one.
func Inputs() []string {
	return []string{
		`{"a": 1, "name": "nn", "list": [1, {"q": "a"}, "b", 1], "map": {"k": "a", "o": {"p": [1]}, "a": true}}`,
		`{"a": "a", "name": "b", "list": [], "map": {"k": {"a": 1}, "b": false, "1": null}, "nothing": {}}`,
		`{"a": {"k": "a"}, "name": "a", "list": [[1, 2], {"a": {"b": 1}}, null, "a"],
			"map": {"a": [0, "1"], "k": "b"}}`,
		`"no object"`,
	}
}

// Data is the document of data.
func Data() string { return `{"base": {"x": {"a": 1}, "n": [1, 2]}}` }
