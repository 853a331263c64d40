// SPDX-License-Identifier: Apache-2.0

// Package compiledtest writes policies of everything that Rego has, by which tests hold what evaluates and reads
// policies against topdown. Start at WritePolicy.
package compiledtest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// writer writes a small policy of everything that Rego has. A rule refers to those before it
// only, so that few policies are recursive; that some don't compile all the same is no matter.
type writer struct {
	t *rapid.T
	// rules and functions are those that were written already.
	rules, functions []string
	// vars are the variables in scope, and names counts them.
	vars  []string
	names int
	// keys are those in the heads of the rule that is written; an empty one is computed.
	keys [2]string
}

// WritePolicy gives a module of package test, and the names of its rules. They read what Inputs and Data have, among
// other things.
func WritePolicy(t *rapid.T) (module string, rules []string) {
	w := &writer{t: t}
	var out []string
	for range w.upTo(5) + 1 {
		if w.one(4) {
			out = append(out, w.aFunction())
		} else {
			out = append(out, w.aRule()...)
		}
	}
	return "package test\n\n" + used(strings.Join(out, "\n\n")) + "\n", w.rules
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

func (w *writer) aFunction() string {
	name := fmt.Sprintf("f%d", len(w.functions))
	var definitions []string
	for range w.upTo(1) + 1 {
		arg := w.of("x", "[x, y]", `{"a": x}`, "x", `"a"`, "1")
		w.vars = nil
		for _, v := range []string{"x", "y"} {
			if strings.Contains(arg, v) {
				w.vars = append(w.vars, v)
			}
		}
		body := w.body(2)
		definitions = append(definitions, fmt.Sprintf("%s(%s) := %s if {\n%s}", name, arg, w.term(1), body))
	}
	w.functions = append(w.functions, name)
	return strings.Join(definitions, "\n\n")
}

// aRule writes the definitions of one rule, of one kind mostly.
func (w *writer) aRule() []string {
	name := fmt.Sprintf("r%d", len(w.rules))
	kind := w.upTo(8)
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
		out = append(out, fmt.Sprintf("default %s := %s", name, w.scalar()))
	}
	w.rules = append(w.rules, name)
	return out
}

func (w *writer) definition(name string, kind int, body string) string {
	tail := fmt.Sprintf(" if {\n%s}", body)
	switch kind {
	case 0, 1:
		out := name + " := " + w.term(1) + tail
		if w.one(3) {
			w.vars = nil
			body := w.body(2)
			out += fmt.Sprintf(" else := %s if {\n%s}", w.term(1), body)
		}
		return out
	case 2, 3:
		return name + " contains " + w.term(1) + tail
	case 4:
		return fmt.Sprintf("%s[%s] := %s%s", name, w.key(), w.term(1), tail)
	case 5:
		return fmt.Sprintf("%s[%s][%s] := %s%s", name, w.keyAt(0), w.keyAt(1), w.term(1), tail)
	case 6:
		return fmt.Sprintf("%s[%s] contains %s%s", name, w.keyAt(0), w.term(1), tail)
	case 7:
		return fmt.Sprintf("%s.%s := %s%s", name, w.of("a", "b"), w.term(1), tail)
	default:
		return fmt.Sprintf("%s[%s].%s := %s%s", name, w.keyAt(0), w.of("a", "b"), w.term(0), tail)
	}
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

func (w *writer) body(most int) string {
	var b strings.Builder
	for range w.upTo(most) + 1 {
		b.WriteString("\t" + w.expression(2) + "\n")
	}
	return b.String()
}

// expression writes one line of a body, and may bring a variable into scope.
func (w *writer) expression(depth int) string {
	switch w.upTo(15) {
	case 15:
		v := w.fresh()
		w.vars = append(w.vars, v)
		return w.of("input.list", "input.map", "input", w.anyOf(w.rules, "input.map")) + "[" + v + "]"
	case 0, 1:
		term, v := w.term(depth), w.fresh()
		w.vars = append(w.vars, v)
		return v + " := " + term
	case 2, 3, 4:
		term, v := w.collection(depth), w.fresh()
		w.vars = append(w.vars, v)
		return "some " + v + " in " + term + "\n\t[" + v + "] != []" // a variable must be used
	case 5:
		term, k, v := w.collection(depth), w.fresh(), w.fresh()
		w.vars = append(w.vars, k, v)
		return fmt.Sprintf("some %s, %s in %s\n\t[%s, %s] != []", k, v, term, k, v)
	case 6:
		return "not " + w.test(depth-1)
	case 7:
		outer, v := slices.Clone(w.vars), w.fresh()
		term := w.collection(depth - 1)
		w.vars = append(w.vars, v)
		inner := w.test(depth - 1)
		w.vars = outer
		return fmt.Sprintf("every %s in %s { %s }", v, term, inner)
	case 8:
		return w.with(depth)
	case 9:
		source, v := w.of("input.list", "input.map", "input"), w.fresh()
		w.vars = append(w.vars, v)
		return fmt.Sprintf("%s := %s[_]", v, source)
	case 10:
		a, b := w.fresh(), w.fresh()
		term := w.term(depth - 1)
		w.vars = append(w.vars, a, b)
		return fmt.Sprintf("[%s, %s] = [%s, %s]", a, b, term, w.scalar())
	default:
		return w.test(depth)
	}
}

func (w *writer) with(depth int) string {
	v := w.fresh()
	inner := w.term(depth - 1)
	if len(w.rules) > 0 && !w.one(3) {
		inner = w.reference()
	}
	target := w.of("input", "input.a", "input.map.k", "data.base", "data.base.x", "data.test."+w.anyOf(w.rules, "none"))
	if len(w.functions) > 0 && w.one(4) {
		target = w.of(w.functions...)
	}
	value := w.term(0)
	w.vars = append(w.vars, v)
	return fmt.Sprintf("%s := %s with %s as %s", v, inner, target, value)
}

func (w *writer) anyOf(names []string, otherwise string) string {
	if len(names) == 0 {
		return otherwise
	}
	return w.of(names...)
}

// test writes an expression that holds or doesn't.
func (w *writer) test(depth int) string {
	a, b := w.term(depth-1), w.term(depth-1)
	if w.one(2) {
		a = w.reference() // of any type, for all that the compiler knows
	}
	switch w.upTo(8) {
	case 0, 1:
		return a + " == " + b
	case 2:
		return a + " != " + b
	case 3:
		return a + " " + w.of("<", "<=", ">", ">=") + " " + b
	case 4:
		return a + " in " + w.collection(depth-1)
	case 5:
		return w.of("is_string", "is_number", "is_object", "is_array", "is_null") + "(" + a + ")"
	case 6:
		return w.of("startswith", "endswith", "contains") + `(input.name, "n")`
	case 7:
		return w.reference()
	default:
		return a
	}
}

func (w *writer) scalar() string {
	return w.of(`"a"`, `"b"`, `"k"`, "0", "1", "2.5", "-1", "true", "false", "null", `""`)
}

func (w *writer) number() string {
	return w.of("0", "1", "2.5", "7", "input.a", "input.map.k", "count(input.list)")
}

func (w *writer) reference() string {
	if len(w.rules) == 0 || w.one(3) {
		return w.of("input.a", "input.name", "input.list[0]", "input.map.k", "input.map.o.p", "input.nothing",
			"input.list[1].q",
			"data.base.x", "data.base", "data.base.n[0]", "input")
	}
	ref := w.of("data.test."+w.of(w.rules...), w.of(w.rules...))
	switch w.upTo(4) {
	case 0:
		ref += "." + w.of("a", "b")
	case 1:
		ref += "[" + w.key() + "]"
	}
	return ref
}

// collection writes a term that may well have elements.
func (w *writer) collection(depth int) string {
	switch w.upTo(6) {
	case 0:
		return "input.list"
	case 1:
		return "input.map"
	case 2:
		return fmt.Sprintf("[%s, %s]", w.term(depth-1), w.scalar())
	case 3:
		return fmt.Sprintf("{%s, %s}", w.scalar(), w.term(depth-1))
	case 4:
		if w.one(2) {
			return fmt.Sprintf("{%s: %s, %s: %s}", w.key(), w.term(depth-1), w.key(), w.term(0))
		}
		return fmt.Sprintf("{%q: %s}", w.of("a", "k"), w.term(depth-1))
	default:
		return w.reference()
	}
}

func (w *writer) term(depth int) string {
	if depth <= 0 {
		return w.leaf()
	}
	switch w.upTo(11) {
	case 0, 1:
		return w.leaf()
	case 2:
		return w.collection(depth)
	case 3, 4:
		return w.comprehension(depth)
	case 5:
		return w.of("[]", "{}", "set()")
	case 6:
		return "count(" + w.collection(depth-1) + ")"
	case 7:
		return fmt.Sprintf("object.get(%s, %s, %s)", w.of("input", "input", "input.map", w.reference()),
			w.of(`"a"`, `"none"`, `["map", "o", "p"]`, `["map", "none"]`, `["list", 1, "q"]`, `[]`, w.leaf()), w.scalar())
	case 8:
		return fmt.Sprintf(`sprintf("%%v", [%s])`, w.term(depth-1))
	case 9:
		return "(" + w.number() + " " + w.of("+", "-", "*", "/", "%") + " " + w.number() + ")"
	case 10:
		return w.operation(depth)
	default:
		return w.reference()
	}
}

func (w *writer) leaf() string {
	if len(w.vars) > 0 && w.one(2) {
		return w.of(w.vars...) + w.of("", "", "", "", "", "", "", "", ".a", "."+w.of("q", "k", "o"))
	}
	return w.of(w.scalar(), w.reference())
}

// operation is one on sets, or a call.
func (w *writer) operation(depth int) string {
	switch {
	case w.one(3):
		return fmt.Sprintf("({%s} %s {%s, %s})", w.number(), w.of("|", "&", "-"), w.number(), w.scalar())
	case len(w.functions) > 0:
		return w.of(w.functions...) + "(" + w.term(depth-1) + ")"
	default:
		return w.reference()
	}
}

func (w *writer) comprehension(depth int) string {
	outer, v := slices.Clone(w.vars), w.fresh()
	defer func() { w.vars = outer }()
	source := w.collection(depth - 1)
	w.vars = append(slices.Clone(outer), v)
	body := "some " + v + " in " + source
	if w.one(2) {
		body += "; " + w.test(depth-1)
	}
	switch w.upTo(2) {
	case 0:
		return fmt.Sprintf("[%s | %s]", w.term(depth-1), body)
	case 1:
		return fmt.Sprintf("{%s | %s}", w.term(depth-1), body)
	default:
		return fmt.Sprintf("{%s: %s | %s}", v, w.term(depth-1), body)
	}
}

// Inputs are documents of the form that the rules expect, and one that isn't.
func Inputs() []string {
	return []string{
		`{"a": 1, "name": "nn", "list": [1, {"q": "a"}, "b", 1], "map": {"k": "a", "o": {"p": [1]}, "a": true}}`,
		`{"a": "a", "name": "b", "list": [], "map": {"k": {"a": 1}, "b": false, "1": null}, "nothing": {}}`,
		`"no object"`,
	}
}

// Data is the document of data.
func Data() string { return `{"base": {"x": {"a": 1}, "n": [1, 2]}}` }
