// SPDX-License-Identifier: Apache-2.0

package compiled_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/pkg/rego/compiled"
	"evenkeel.dev/evenkeel/test/compiledtest"
)

// casesGenerated is how many policies a test writes at least, whatever rapid's own default is.
const casesGenerated = 400

// count says what a test of generated policies came to.
type count struct {
	// policies are those written, and rules those of their rules that the compiled engine evaluates.
	policies, rules int
	// asked is how often, and answered and failed how often it gave something and an error; needless are the
	// errors of which topdown had none.
	asked, answered, failed, needless int
	// faults are answers of topdown that say that it is wrong itself, and eager are errors of what nobody asked it
	// for.
	faults, eager int
}

func (c *count) add(o count) {
	c.policies, c.rules, c.asked = c.policies+o.policies, c.rules+o.rules, c.asked+o.asked
	c.answered, c.failed, c.needless = c.answered+o.answered, c.failed+o.failed, c.needless+o.needless
	c.faults, c.eager = c.faults+o.faults, c.eager+o.eager
}

// TestGeneratedPoliciesAgree writes policies and asks both engines for each of their rules, and for the package as
// a whole.
func TestGeneratedPoliciesAgree(t *testing.T) {
	checks, err := strconv.Atoi(flag.Lookup("rapid.checks").Value.String())
	if err != nil || checks <= 0 {
		t.Fatalf("rapid.checks is %d, %v", checks, err)
	}
	counts := make([]count, (casesGenerated+checks-1)/checks)
	t.Run("parts", func(t *testing.T) {
		for i := range counts {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(rt *rapid.T) { counts[i].add(agree(t.Context(), rt)) })
			})
		}
	})
	var all count
	for _, c := range counts {
		all.add(c)
	}
	t.Logf("%+v", all)
	// Measured are 2.6 rules a policy; three in four answers give something, and one in six is an error.
	if all.policies < casesGenerated || all.rules < 3*all.policies/2 || all.answered < all.asked/2 ||
		all.failed < all.asked/25 || all.needless > all.failed/4 || all.faults+all.eager > all.asked/50 {
		t.Error("that proves too little: too few rules are compiled, answer, or fail as they do by topdown")
	}
}

// agree writes one policy, and fails where the engines differ.
func agree(ctx context.Context, rt *rapid.T) count {
	data := ast.MustParseTerm(compiledtest.Data())
	module, rules := compiledtest.WritePolicy(rt)
	c := count{policies: 1}
	queries := []string{"x = data.test"}
	for _, rule := range rules {
		queries = append(queries, "x = data.test."+rule)
	}
	for _, query := range queries {
		q, err := prepare(query, module)
		if err != nil {
			rt.Logf("%v", err)
			continue
		}
		c.rules++
		for _, input := range compiledtest.Inputs() {
			for _, strict := range []bool{false, true} {
				o := compiled.Options{Input: ast.MustParseTerm(input), Data: data, Strict: strict}
				got, want := q.compiledAnswers(ctx, o), q.topdownAnswers(ctx, o)
				c.compare(got, want)
				if d := differ(got, want); d != "" && isEager(q.compiler, got, want) {
					c.eager++
				} else if d != "" && !isFault(want.err) {
					rt.Fatalf("strict %v, %s of\n%s\nfor %s:\n%s", strict, query, module, input, d)
				}
			}
		}
	}
	return c
}

func (c *count) compare(got, want answers) {
	c.asked++
	switch {
	case isFault(want.err):
		c.faults++
	case got.err != nil:
		c.failed++
		if want.err == nil {
			c.needless++
		}
	case got.set.Len() > 0:
		c.answered++
	}
}

// isFault says that topdown has found itself to be wrong: that of OPA v1.22.2 evaluates a comprehension that it
// indexes with the variables that it indexes it by unbound, which some built-in functions can't take.
func isFault(err error) bool {
	var told *topdown.Error
	return errors.As(err, &told) && told.Code == topdown.InternalErr
}

// isEager says that topdown alone gives an error, and nothing that the compiled engine doesn't, and may have it from a
// comprehension that it evaluates for all values of the variables that it indexes it by, those too for which none
// asks.
func isEager(compiler *ast.Compiler, got, want answers) (is bool) {
	if got.err != nil || want.err == nil || want.set.Diff(got.set).Len() > 0 {
		return false
	}
	for _, module := range compiler.Modules {
		ast.WalkTerms(module, func(t *ast.Term) bool {
			is = is || compiler.ComprehensionIndex(t) != nil
			return is
		})
	}
	return is
}

// TestGeneratedPoliciesHaveEverything holds the writer to what it is there for.
func TestGeneratedPoliciesHaveEverything(t *testing.T) {
	var text strings.Builder
	for range 4 { // some forms are rare
		rapid.Check(t, func(rt *rapid.T) {
			module, _ := compiledtest.WritePolicy(rt)
			fmt.Fprintln(&text, module)
		})
	}
	for _, part := range []string{" else := ", "default r", "default f", "every ", "not ", " contains ", `$"`,
		"walk(", "].a[", "with input.map", "with data.base", "with data.test.", "with f", "with count", "] := ",
		" | some "} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("no policy has %q", part)
		}
	}
}
