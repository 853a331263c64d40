// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// repeated is a text of about so many bytes, of numbered lines.
func repeated(bytes int, line string) string {
	var b strings.Builder
	for i := 1; b.Len() < bytes; i++ {
		b.WriteString(strings.NewReplacer("J", fmt.Sprint(i-1), "I", fmt.Sprint(i)).Replace(line))
	}
	return b.String()
}

// TestNothingIsSoLongThatCompilingNeverEnds compiles what OPA takes the square or the cube
// of its length for.
func TestNothingIsSoLongThatCompilingNeverEnds(t *testing.T) {
	cases := map[string]func(bytes int) string{
		"rules":         func(n int) string { return repeated(n, "r contains \"I\" if input.object.aI == I\n") },
		"a chain":       func(n int) string { return "r0 := 1\n" + repeated(n, "rI := rJ\n") },
		"many values":   func(n int) string { return repeated(n, "p := {\"aI\": 1} if input.x == I\n") },
		"a long list":   func(n int) string { return "x := [" + strings.Repeat(`{"a": 1},`, n/9) + "1]\n" },
		"one long body": func(n int) string { return "x if {\n" + repeated(n, "\taI = input.aJ\n") + "}\n" },
		"a body that must be put in order": func(n int) string {
			lines := strings.Split(repeated(n, "\taI = aJ + 1\n"), "\n")
			for i, j := 0, len(lines)-1; i < j; i, j = i+1, j-1 {
				lines[i], lines[j] = lines[j], lines[i]
			}
			return "x if {\n" + strings.Join(lines, "\n") + "\n\ta0 = 1\n}\n"
		},
		"a rule of many definitions that is used often": func(n int) string {
			return repeated(n/6, "s contains c if c := input.object.aI[_]\n") +
				repeated(n*5/6, "r contains I if {\n"+strings.Repeat("\ts[_].a\n", 40)+"}\n")
		},
		"one long call": func(n int) string {
			return "x := " + strings.Repeat("abs(", n/5) + "1" + strings.Repeat(")", n/5) + "\n"
		},
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1000, 16_000, 128_000, 600_000} {
				done := make(chan error, 1)
				begin := time.Now()
				go func() {
					_, err := rego.Compile(podPolicy(header + "deny contains \"no\" if false\n\n" + text(n)))
					done <- err
				}()
				select {
				case err := <-done:
					t.Logf("%d: %s: %.100v", n, time.Since(begin).Round(time.Millisecond), err)
					var problem *rego.CompileError
					if n > 512<<10 && !errors.As(err, &problem) {
						t.Errorf("%d bytes are compiled", n)
					}
					if n == 1000 && err != nil {
						t.Errorf("%d bytes aren't: %v", n, err)
					}
				case <-time.After(20 * time.Second):
					t.Fatalf("%d bytes aren't compiled after 20 s", n)
				}
			}
		})
	}
}

// TestNamesThatArentThereAreAskedAfterInTime compiles names that nothing defines beside as many, and as long, as there
// may be: what was meant is a guess, which mustn't keep the compiler.
func TestNamesThatArentThereAreAskedAfterInTime(t *testing.T) {
	there := func(length int) string { return strings.Repeat("ab", length/2) }
	missing := func(length int) string { return strings.Repeat("ba", length/2) } // which shares no end with it
	lists := func(bytes, length int) string {
		line := "xI := [1"
		for i := range 8 {
			line += fmt.Sprintf(", data.test.%cI%s", 'p'+i, missing(length))
		}
		return repeated(bytes, line+"]\n")
	}
	for name, text := range map[string]string{
		"one long name beside long names": "x := data.test." + missing(250_000) + "\n" +
			repeated(240_000, "rI"+there(2000)+" := I\n"),
		"many long names beside long names": repeated(240_000, "rI"+there(2000)+" := I\n") +
			repeated(240_000, "xI := data.test.qI"+missing(2000)+"\n"),
		"many names beside many": repeated(200_000, "rI"+there(200)+" := I\n") +
			lists(250_000, 200),
		"many short names beside many": repeated(30_000, "rI"+there(10)+" := I\n") +
			lists(100_000, 10),
		"a long function": "x := " + missing(500_000) + "(1)\n",
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan error, 1)
			begin := time.Now()
			go func() {
				_, err := rego.Compile(podPolicy(header + "deny contains \"no\" if false\n\n" + text))
				done <- err
			}()
			select {
			case err := <-done:
				t.Logf("%s: %.300v", time.Since(begin).Round(time.Millisecond), err)
				var problem *rego.CompileError
				if !errors.As(err, &problem) {
					t.Fatalf("it is compiled: %v", err)
				}
				for _, p := range problem.Problems {
					if len(p.Message) > 8<<10 {
						t.Errorf("a message of %d bytes: %.100s", len(p.Message), p.Message)
					}
				}
			case <-time.After(20 * time.Second):
				t.Fatal("it isn't compiled after 20 s")
			}
		})
	}
}
