// SPDX-License-Identifier: Apache-2.0

package compiledtest

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// setWriter writes policies of sets whose elements are parts of the input, and of what may be done with them.
type setWriter struct {
	t          *rapid.T
	sets, vars []string
	names      int
}

func (w *setWriter) of(choices ...string) string {
	return rapid.SampledFrom(choices).Draw(w.t, "choice")
}

func (w *setWriter) fresh() string {
	w.names++
	return fmt.Sprintf("v%d", w.names)
}

func (w *setWriter) field() string { return w.of("a", "b", "c") }

func (w *setWriter) set() string { return w.of(w.sets...) }

func (w *setWriter) known() string {
	if len(w.vars) == 0 {
		return w.of(`"a"`, "1", "input.items[0]", "input.key")
	}
	return w.of(w.vars...)
}

// bind brings a variable into scope.
func (w *setWriter) bind(format string, args ...any) string {
	v := w.fresh()
	w.vars = append(w.vars, v)
	return strings.ReplaceAll(fmt.Sprintf(format, args...), "$", v)
}

const setFunctions = `
has(x, k) if x[k]
lacks(x, k) if not has(x, k)
value(x, k) := object.get(x, k, 0)
same(x) := x
first(x) := x.a
twice(x, x) if x.a
among(x) if s0[x]
others(x, k) := {y | y := s0[_][k]; y != x.a}
`

// element writes a line that names elements of a set.
func (w *setWriter) element() string {
	switch s := w.set(); w.of("name", "some", "ref", "part", "free", "input", "with", "is") {
	case "name":
		return w.bind("$ := %s[_]", s)
	case "some":
		return w.bind("some $ in %s", s)
	case "ref":
		return w.bind("%s[$]", s)
	case "part":
		return w.bind("$ := %s[_].%s", s, w.field())
	case "free":
		return w.bind("%s[$].%s", s, w.field())
	case "input":
		return w.bind("$ := input.items[_]")
	case "with":
		return w.bind(`$ := %s[_] with input as {"items": input.more}`, s)
	default:
		return s + "[" + w.known() + "]"
	}
}

// use writes a line that does something with what is in scope.
func (w *setWriter) use() string {
	switch w.of("test", "test", "bind", "bind", "gather", "gather", "gather") {
	case "test":
		return w.test()
	case "bind":
		return w.bound()
	default:
		return w.gathered()
	}
}

// test writes a line that holds or doesn't.
func (w *setWriter) test() string {
	s, v, f := w.set(), w.known(), w.field()
	switch w.of("field", "equal", "equal", "not", "function", "negated", "every") {
	case "field":
		return v + "." + f
	case "equal":
		return v + w.of(" == ", " != ", " = ") + w.of(w.known(), w.known()+"."+f, `"a"`, "1")
	case "not":
		return "not " + s + "[" + v + "]"
	case "function":
		return w.of("has", "lacks", "twice", "among") +
			fmt.Sprintf("(%s)", v+w.of(`, "a"`, `, "b"`, ", input.key", ", "+v, ""))
	case "negated":
		return "not has(" + v + `, "` + f + `")`
	default:
		q := w.fresh()
		return fmt.Sprintf("every %s in %s { %s.%s }", q, s, q, f)
	}
}

// bound writes a line that brings a variable into scope, which stands for some part or for all of what is known.
func (w *setWriter) bound() string {
	s, v, f := w.set(), w.known(), w.field()
	switch w.of("function", "walk", "key", "alias", "with", "message") {
	case "message":
		return w.bind("$ := sprintf(\"%%v %%v\", [%s, %s])", v, w.known()+w.of("", "."+f))
	case "function":
		return w.bind("$ := %s", w.of("value("+v+`, "`+f+`")`, "same("+v+")", "first("+v+")",
			"others("+v+`, "`+f+`")`, v+"."+f))
	case "walk":
		return w.bind("walk(%s, [_, $])", v)
	case "key":
		return w.bind("%s[$]; not $ == \"%s\"", v, f)
	case "alias":
		return w.bind("$ := %s", w.of(s, v, "["+v+"]", "{"+v+"}"))
	default:
		return w.bind("$ := count(%s) with data.test.%s as {1}", s, w.set())
	}
}

// gathered writes a line that gathers something of each element.
func (w *setWriter) gathered() string {
	s, f, q := w.set(), w.field(), w.fresh()
	inner := strings.ReplaceAll(w.of("$ := "+s+"[_]", s+"[$]", "some $ in "+s), "$", q)
	if v := w.known(); w.of("plain", "plain", "tested") == "tested" {
		inner += "; " + w.of(q+"."+f, q+" != "+v, q+".a == "+v+".a", "not has("+q+", \"b\")")
	}
	switch w.of("count", "array", "array", "set", "object", "nested", "sum") {
	case "count":
		return w.bind("$ := count(%s)", s)
	case "array":
		return w.bind("$ := [%s | %s]", w.of("1", q+"."+f, q), inner)
	case "set":
		return w.bind("$ := {%s | %s}", w.of("1", q+"."+f, q), inner)
	case "object":
		return w.bind("$ := {%s.%s: %s | %s}", q, f, w.of("1", q+"."+w.field(), q), inner)
	case "nested":
		return w.bind("$ := [n | n := count({%s.%s | %s})]", q, f, inner)
	default:
		return w.bind("$ := sum([n | n := %s[_].a])", s)
	}
}

func (w *setWriter) body(most int) string {
	lines := []string{}
	for range rapid.IntRange(1, most).Draw(w.t, "lines") {
		if rapid.Bool().Draw(w.t, "element") {
			lines = append(lines, w.element())
		} else {
			lines = append(lines, w.use())
		}
	}
	return "\t" + strings.Join(lines, "\n\t")
}

// put is what a rule gives.
func (w *setWriter) put() string {
	return w.of(w.known(), w.known()+"."+w.field(), "1", `{"a": `+w.known()+"."+w.field()+"}")
}

func (w *setWriter) aSet(name string) string {
	var out []string
	for range rapid.IntRange(1, 2).Draw(w.t, "definitions") {
		w.vars = nil
		from := []string{w.bind("$ := input.%s[_]", w.of("items", "items", "more"))}
		if len(w.sets) > 0 && rapid.Bool().Draw(w.t, "of a set") {
			from = []string{w.element()}
		}
		if len(w.sets) > 0 && w.of("plain", "plain", "tested") == "tested" {
			from = append(from, w.use())
		}
		element := w.of(w.known(), w.known(), w.known(), w.put())
		out = append(out, fmt.Sprintf("%s contains %s if {\n\t%s\n}", name, element,
			strings.Join(from, "\n\t")))
	}
	return strings.Join(out, "\n\n")
}

// WriteSets gives a module of package test, and the names of its rules: sets whose elements are parts of the input, and
// rules of all that may be done with them. They read what SetInput has.
func WriteSets(t *rapid.T) (module string, rules []string) {
	w := &setWriter{t: t}

	parts := []string{"package test", setFunctions}
	for i := range rapid.IntRange(1, 3).Draw(w.t, "sets") {
		name := fmt.Sprintf("s%d", i)
		parts = append(parts, w.aSet(name))
		w.sets = append(w.sets, name)
	}
	rules = slices.Clone(w.sets)
	for i := range rapid.IntRange(1, 3).Draw(w.t, "rules") {
		w.vars = nil
		name, body := fmt.Sprintf("r%d", i), w.body(4)
		head := name + w.of(" contains ", " contains ", " := ", "[1] := ") + w.put()
		parts = append(parts, head+" if {\n"+body+"\n}")
		rules = append(rules, name)
	}
	return strings.Join(parts, "\n\n") + "\n", rules
}

// SetInput is a document of what those policies read: lists of elements that differ in some fields alone.
func SetInput(t *rapid.T) string {
	element := func() string {
		if w := rapid.IntRange(0, 9).Draw(t, "kind"); w == 0 {
			return rapid.SampledFrom([]string{"false", "null", "1", `"a"`, "[]", "[1]", "{}"}).Draw(t, "odd")
		}
		var fields []string
		for _, name := range []string{"a", "b", "c"} {
			value := rapid.SampledFrom([]string{"", "1", "2", "false", `"a"`, `{"a": 1, "b": 2}`}).Draw(t, name)
			if value != "" {
				fields = append(fields, fmt.Sprintf("%q: %s", name, value))
			}
		}
		return "{" + strings.Join(fields, ", ") + "}"
	}
	list := func() string {
		var elements []string
		for range rapid.IntRange(0, 4).Draw(t, "elements") {
			elements = append(elements, element())
		}
		return "[" + strings.Join(elements, ", ") + "]"
	}
	return fmt.Sprintf(`{"items": %s, "more": %s, "key": %q}`, list(), list(),
		rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key"))
}
