// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// deepVariable names the text that a child of the test is to compile.
const deepVariable = "EVENKEEL_DEEP_TEXT"

const (
	// deepStack is the stack that a child may take, an eighth of what ends any Go program.
	deepStack = 128 << 20
	// deepPatience is how long a child may take for all sizes.
	deepPatience = time.Minute
)

// deepTexts are of about so many bytes, and nest something as deep as that goes.
func deepTexts() map[string]func(bytes int) string {
	nested := func(open, inner, end string) func(int) string {
		return func(n int) string {
			levels := n / (len(open) + len(end))
			return strings.Repeat(open, levels) + inner + strings.Repeat(end, levels)
		}
	}
	value := func(text func(int) string) func(int) string {
		return func(n int) string { return "x := " + text(n) }
	}
	lists := nested("[", "1", "]")
	return map[string]func(int) string{
		"lists":                        value(lists),
		"objects":                      value(nested(`{"a":`, "1", "}")),
		"keys":                         value(nested("{", "1", ":1}")),
		"sets":                         value(nested("{", "1", "}")),
		"parentheses":                  value(nested("(", "1", ")")),
		"templates":                    value(nested(`$"{`, "1", `}"`)),
		"calls":                        value(nested("abs(", "1", ")")),
		"indexed calls":                value(nested("abs(", "1", ")[0]")),
		"open brackets":                func(n int) string { return "x := " + strings.Repeat("[", n) },
		"a sum":                        func(n int) string { return "x := 1" + strings.Repeat("+1", n/2) },
		"membership":                   func(n int) string { return "x := 1" + strings.Repeat(" in [1]", n/7) },
		"sets intersected":             func(n int) string { return "x := {1}" + strings.Repeat("&{1}", n/4) },
		"references within references": value(nested("input[", "1", "]")),
		"a long reference":             func(n int) string { return "x := input" + strings.Repeat(".a", n/2) },
		"a long name":                  func(n int) string { return "x" + strings.Repeat(".a", n/2) + " := 1" },
		"a long name of a set":         func(n int) string { return "x" + strings.Repeat(".a", n/2) + " contains 1" },
		"patterns": func(n int) string {
			return "x if { a := " + lists(n/2) + "; " + nested("[", "b", "]")(n/2) + " = a }"
		},
		"arguments": func(n int) string {
			return "f(" + nested("[", "a", "]")(n/2) + ") := a\nx := f(" + lists(n/2) + ")"
		},
		"two values": func(n int) string {
			return "x := " + lists(n/2) + " if input.a\nx := " + nested("[", "true", "]")(n/2) + " if input.b"
		},
		"rules of rules": func(n int) string {
			return "r0 := 1\n" + repeated(n, "rI := "+strings.Repeat("[", 20)+"rJ"+strings.Repeat("]", 20)+"\n") +
				"y if r10 == r11"
		},
		"functions of functions": func(n int) string {
			return "f0(v) := v\n" +
				repeated(n, "fI(v) := "+strings.Repeat("[", 20)+"fJ(v)"+strings.Repeat("]", 20)+"\n")
		},
		"variables of variables": func(n int) string {
			return "x if {\na0 := 1\n" + repeated(min(n, 9000), "aI := [aJ]\n") + "input.x == a0\n}"
		},
		"rules compared with rules": func(n int) string { return compared(n, "[", "]", "r%d == s%d") },
		"a rule that is looked up": func(n int) string {
			return compared(n, `{"a": `, "}", "p[r%d]\n}\np contains v if {\n v := s%d")
		},
		"variables compared": func(n int) string {
			return "x if {\n" + strings.Replace(compared(min(n, 3000), "[", "]", "r%d == s%d"), "y if {", "", 1)
		},
		"else": func(n int) string { return "x := 1 if input.a" + strings.Repeat(" else := 2 if input.b", n/21) },
	}
}

// compared are two chains, each of whose links holds the one before, and a body that asks of the
// last of both.
func compared(bytes int, open, end, question string) string {
	links := max(bytes/2/(len("r10 := r9\n")+len(open)+len(end)), 2)
	var b strings.Builder
	for _, name := range []string{"r", "s"} {
		fmt.Fprintf(&b, "%s0 := 1\n", name)
		for i := 1; i <= links; i++ {
			fmt.Fprintf(&b, "%s%d := %s%s%d%s\n", name, i, open, name, i-1, end)
		}
	}
	return b.String() + "y if {\n " + fmt.Sprintf(question, links, links) + "\n}"
}

// TestNothingIsNestedSoThatTheStackOverflows compiles each in a process of its own, for Go ends a
// process whose stack overflows, and nothing can keep it from that: up to the plan that the
// compiled engine is made of, which the catalog makes with its lock held.
func TestNothingIsNestedSoThatTheStackOverflows(t *testing.T) {
	if testing.Short() {
		t.Skip("each takes a process, and some a few seconds")
	}
	for name := range deepTexts() {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), deepPatience)
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestCompileOneDeepText$", "-test.v")
			cmd.Env = append(os.Environ(), deepVariable+"="+name)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%.2000s", err, out.String())
			}
			t.Log(out.String())
		})
	}
}

// TestCompileOneDeepText is the child.
func TestCompileOneDeepText(t *testing.T) {
	text, known := deepTexts()[os.Getenv(deepVariable)]
	if !known {
		t.Skip("TestNothingIsNestedSoThatTheStackOverflows runs this in a process of its own")
	}
	debug.SetMaxStack(deepStack)
	for _, n := range []int{40, 100, 500, 1000, 7000, 30_000, 90_000, 500_000} {
		begin := processorTime(t)
		c, err := rego.Compile(podPolicy(header + "deny contains \"no\" if false\n\n" + text(n) + "\n"))
		if err == nil {
			c = c.On(rego.CompiledEngine)
			if got := c.Evaluate(t.Context(), input(t, podRequest()), time.Second); len(got.Violations) > 0 {
				t.Errorf("%d bytes: %v", n, got.Violations)
			}
		}
		fmt.Fprintf(os.Stdout, "%d bytes: %s of the processor: %.90v\n", n, processorTime(t)-begin, err)
		if n == 40 && err != nil && strings.Contains(err.Error(), "nested deeper") {
			t.Errorf("%d bytes are refused: %v", n, err)
		}
	}
}
