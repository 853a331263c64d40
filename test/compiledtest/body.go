// SPDX-License-Identifier: Apache-2.0

package compiledtest

import (
	"fmt"
	"slices"
	"strings"
)

func (w *writer) body(most int) string {
	var b strings.Builder
	for range w.upTo(most) + 1 {
		b.WriteString("\t" + w.expression(2) + "\n")
	}
	return b.String()
}

// expression writes one line of a body, and may bring a variable into scope.
func (w *writer) expression(depth int) string {
	switch n := w.upTo(19); n {
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
		return w.every(depth)
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
		return w.further(n, depth)
	}
}

func (w *writer) further(n, depth int) string {
	switch n {
	case 15:
		v := w.fresh()
		w.vars = append(w.vars, v)
		return w.of("input.list", "input.map", "input", w.anyOf(w.rules, "input.map")) + "[" + v + "]"
	case 16:
		return w.test(depth) + w.withs()
	case 17:
		return w.destructured(depth)
	case 18:
		return w.declared()
	case 19:
		return "not " + w.test(depth-1) + w.withs()
	default:
		return w.test(depth)
	}
}

// every writes one that may have the keys, more than one line, and one within it.
func (w *writer) every(depth int) string {
	outer, k, v := slices.Clone(w.vars), w.fresh(), w.fresh()
	term := w.collection(depth - 1)
	w.vars = append(w.vars, v)
	inner, names := w.test(depth-1), v
	if w.one(3) {
		names = k + ", " + v
		inner += "; [" + k + ", " + v + "] != []"
	}
	switch w.upTo(5) {
	case 0:
		inner += "; " + w.test(depth-1)
	case 1:
		if depth > 0 {
			inner += "; " + w.every(depth-1)
		}
	case 2:
		inner += w.withs()
	}
	w.vars = outer
	return fmt.Sprintf("every %s in %s { %s }", names, term, inner)
}

// destructured takes a value apart, by a pattern with constants among its variables.
func (w *writer) destructured(depth int) string {
	a, b := w.fresh(), w.fresh()
	line := w.of(
		fmt.Sprintf(`{"a": %s, "k": %s} = `, a, b)+w.of("input.map", "input.a", w.reference()),
		fmt.Sprintf("[%s, [%s, _]] := [%s, [%s, 1]]", a, b, w.term(depth-1), w.scalar()),
		fmt.Sprintf("walk(%s, [%s, %s])", w.of("input.map", "input.list", w.reference()), a, b),
		fmt.Sprintf("%s[%s][%s]", w.of("input", "input.map", w.anyOf(w.rules, "input.list")), a, b),
		fmt.Sprintf("input.list[%s] = [%s, 2]", a, b))
	w.vars = append(w.vars, a, b)
	return line
}

// declared names a variable before it is used, in another order than it is found in.
func (w *writer) declared() string {
	v := w.fresh()
	line := w.of(fmt.Sprintf("some %s\n\t%s == input.list[%s]", v, w.leaf(), v),
		fmt.Sprintf("some %s\n\t%s[%s] != %s", v, w.of("input.map", "data.base", "input.list"), v, w.scalar()),
		fmt.Sprintf("some %s\n\tinput.map[%s] = %s", v, v, w.leaf()))
	w.vars = append(w.vars, v)
	return line
}

// with writes a line with one replacement or some.
func (w *writer) with(depth int) string {
	v := w.fresh()
	inner := w.term(depth - 1)
	if len(w.rules) > 0 && !w.one(3) {
		inner = w.reference()
	}
	line := v + " := " + inner + w.withs()
	w.vars = append(w.vars, v)
	return line
}

// withs are up to three replacements: of a whole and of parts of it, in either order, and of functions. A whole of
// which a part is replaced after it is written down there: topdown of OPA v1.22.2 puts the part into the very
// value, so that a rule or a document that stands for the whole is changed for the rest of the evaluation.
func (w *writer) withs() (out string) {
	var targets, values []string
	for range w.upTo(2) + 1 {
		target, value := w.target(), w.term(0)
		if strings.HasPrefix(target, "data.base.") { // topdown joins an object with what is there, read from above
			value = w.of(w.scalar(), "[1]")
		}
		if w.one(6) {
			target, value = w.function()
		}
		for i, before := range targets {
			if strings.HasPrefix(target, before) && target != before {
				values[i] = w.of(w.scalar(), `{"k": 1, "a": {"b": 2}}`, `{"x": {"a": []}, "n": [1]}`, "{}")
			}
		}
		targets, values = append(targets, target), append(values, value)
	}
	for i := range targets {
		out += " with " + targets[i] + " as " + values[i]
	}
	return out
}

func (w *writer) target() string {
	switch w.upTo(4) {
	case 0:
		return w.of("input.map.k", "input.map.o.p", "data.base.x.a", "data.base.n", "data.none.a")
	case 1:
		return "data.test." + w.anyOf(w.rules, "none") + w.of("", "", ".a", `["b"]`)
	default:
		return w.of("input", "input.a", "input.map", "data.base", "data.base.x",
			"data.test."+w.anyOf(w.rules, "none"))
	}
}
