// SPDX-License-Identifier: Apache-2.0

package compiledtest

import (
	"fmt"
	"slices"
)

// test writes an expression that holds or doesn't.
func (w *writer) test(depth int) string {
	a, b := w.term(depth-1), w.term(depth-1)
	if w.one(2) {
		a = w.reference() // of any type, for all that the compiler knows
	}
	switch w.upTo(9) {
	case 9:
		if len(w.functions) > 0 {
			return w.call(depth)
		}
		return a + " = " + b
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
		return w.of(w.reference(), w.walk())
	default:
		return a
	}
}

// walk asks whether a part of the input has a value: nothing that it gives is kept.
func (w *writer) walk() string {
	return fmt.Sprintf(`walk(%s, [["%s"], %s])`, w.of("input", "input.map"), w.of("a", "name", "k"), w.scalar())
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
	switch n := w.upTo(13); n {
	case 0, 1:
		return w.leaf()
	case 2:
		return w.collection(depth)
	case 3, 4:
		return w.comprehension(depth)
	case 5:
		return w.of("[]", "{}", "set()")
	default:
		return w.called(n, depth)
	}
}

// called is what a function or an operator gives.
func (w *writer) called(n, depth int) string {
	switch n {
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
	case 12:
		return w.interpolated(depth)
	case 13:
		return w.computed(depth)
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
		return w.call(depth)
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
	switch w.upTo(5) {
	case 0, 1:
		body += "; " + w.test(depth-1)
	case 2:
		body += "; not " + w.test(depth-1)
	case 3:
		body += "; " + w.test(depth-1) + w.withs()
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

// interpolated is a text with expressions in it, of which one may be undefined.
func (w *writer) interpolated(depth int) string {
	return `$"` + w.of("", "of ", `\{x`) + "{" + w.term(depth-1) + "}" + w.of("", " and {"+w.leaf()+"}") + `"`
}

// computed is what a built-in function gives that takes collections apart, or that fails now and then.
func (w *writer) computed(depth int) string {
	switch w.upTo(5) {
	case 0:
		return "array.concat(" + w.of("input.list", "[1]") + ", [" + w.term(depth-1) + "])"
	case 1:
		return "object.union(" + w.of("input.map", "{}") + `, {"k": ` + w.term(depth-1) + "})"
	case 2:
		return "to_number(" + w.of("input.a", "input.name", `"7"`) + ")"
	case 3:
		return "{" + w.scalar() + " | " + w.test(depth-1) + "}"
	case 4:
		return w.of("sort", "max", "union", "object.keys", "json.marshal") + "(" + w.collection(depth-1) + ")"
	default:
		return `concat(",", ` + w.of("input.list", `["a"]`, w.collection(depth-1)) + ")"
	}
}
