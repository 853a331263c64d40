// SPDX-License-Identifier: Apache-2.0

package compiledtest

import (
	"fmt"
	"slices"
	"strings"
)

// aFunction writes the clauses of one function, of one argument or two: some give a value, some hold only.
func (w *writer) aFunction() string {
	name := fmt.Sprintf("f%d", len(w.functions))
	two, holds := w.one(3), w.one(4)
	var clauses []string
	for range w.upTo(2) + 1 {
		w.vars = nil
		args := w.argument("x", "y")
		if two {
			args += ", " + w.argument("z", "x")
		}
		vars := slices.Clone(w.vars)
		body := w.body(2)
		head := name + "(" + args + ")"
		if !holds {
			head += " := " + w.term(1)
		}
		clauses = append(clauses, fmt.Sprintf("%s if {\n%s}", head, body))
		if !holds {
			clauses[len(clauses)-1] += w.otherwise(vars)
		}
	}
	call := name + "(%s)"
	if two {
		call = name + "(%s, %s)"
	}
	if w.one(3) {
		anything := strings.Repeat("_, ", strings.Count(call, "%s")-1) + "_"
		clauses = append(clauses, "default "+name+"("+anything+") := "+w.scalar())
	}
	w.functions = append(w.functions, call)
	return strings.Join(clauses, "\n\n")
}

// argument is one with the names in scope that it has; the second name is in some alone.
func (w *writer) argument(first, second string) string {
	arg := w.of(first, first, "["+first+", "+second+"]", `{"a": `+first+"}", `"a"`, "1", "_")
	for _, v := range []string{first, second} {
		if strings.Contains(arg, v) && !slices.Contains(w.vars, v) && arg != `"a"` {
			w.vars = append(w.vars, v)
		}
	}
	return arg
}

// call calls a function that there is.
func (w *writer) call(depth int) string {
	form := w.of(w.functions...)
	args := make([]any, strings.Count(form, "%s"))
	for i := range args {
		args[i] = w.term(depth - 1)
	}
	return fmt.Sprintf(form, args...)
}

// function is the name of one that there is, written or built in, as a target of with, and what may stand for it.
func (w *writer) function() (name, value string) {
	if len(w.functions) == 0 || w.one(3) {
		return w.of("count", "is_string", "lower"), w.of(w.scalar(), "is_null", "type_name")
	}
	name, _, _ = strings.Cut(w.of(w.functions...), "(")
	other, _, _ := strings.Cut(w.of(w.functions...), "(")
	return name, w.of(w.scalar(), w.leaf(), other, "is_string")
}
