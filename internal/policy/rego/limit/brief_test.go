// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"evenkeel.dev/evenkeel/internal/policy/rego/size"
)

func newBrief(t *testing.T, allowed time.Duration, most int64) *Brief {
	t.Helper()
	b := NewBrief(allowed, size.NewScale(most))
	t.Cleanup(b.Stop)
	return b
}

func TestABriefEvaluationEndsInTime(t *testing.T) {
	b := newBrief(t, time.Millisecond, 100)
	deadline := time.Now().Add(10 * time.Second)
	for !b.Cancelled() {
		if time.Now().After(deadline) {
			t.Fatal("it isn't over after ten seconds")
		}
	}
}

func TestABriefEvaluationMakesLittle(t *testing.T) {
	b := newBrief(t, time.Hour, 100)
	if !b.Spend(maxBrief) || b.Cancelled() {
		t.Error("what is allowed is refused")
	}
	if b.Spend(1) {
		t.Error("one byte more than is allowed may be made")
	}
}

// TestWhatIsGatheredIsWeighed calls the functions that rules call unseen.
func TestWhatIsGatheredIsWeighed(t *testing.T) {
	list := ast.NewArray()
	for range 200 {
		list = list.Append(ast.StringTerm("x"))
	}
	long := ast.StringTerm(strings.Repeat("x", maxHashed/64))
	for name, tc := range map[string]struct {
		function ast.Var
		value    *ast.Term
		times    int
		heavy    bool
	}{
		"a small list":           {Weigh, ast.ArrayTerm(ast.StringTerm("x")), 9, false},
		"a large list":           {Weigh, ast.NewTerm(list), 1, true},
		"short texts":            {WeighText, ast.StringTerm("x"), 9, false},
		"a long text":            {WeighText, long, 64, false},
		"a long text once again": {WeighText, long, 65, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBrief(t, time.Hour, 100)
			var err error
			for range tc.times {
				err = errors.Join(err, BriefFunctions()[string(tc.function)].Func(topdown.BuiltinContext{Cancel: b},
					[]*ast.Term{tc.value}, func(*ast.Term) error { return nil }))
			}
			if errors.Is(err, ErrHeavy) != tc.heavy {
				t.Errorf("got %v, want heavy %v", err, tc.heavy)
			}
		})
	}
}
