// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
)

// TestWhatIsSpentCountsTowardsTheLimit has an evaluation of an hour, of which most is spent.
func TestWhatIsSpentCountsTowardsTheLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		spent time.Duration
		over  bool
	}{
		"nothing is spent":   {0, false},
		"an hour is spent":   {time.Hour, true},
		"more than the hour": {2 * time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := NewWatch(Options{Time: time.Hour, Spent: tc.spent, Parts: 1})
			defer w.Stop()
			w.Begin()
			for deadline := time.Now().Add(10 * time.Second); tc.over && !w.late(); {
				if time.Now().After(deadline) {
					t.Fatal("it isn't over after ten seconds")
				}
			}
			if w.late() != tc.over {
				t.Errorf("over %v, want %v", w.late(), tc.over)
			}
		})
	}
}

// TestACancelledEvaluationStaysSo has the share of a part end after all were cancelled.
func TestACancelledEvaluationStaysSo(t *testing.T) {
	w := NewWatch(Options{Time: time.Hour, Parts: 300})
	defer w.Stop()
	w.Begin()
	w.Cancel()
	w.stop(1)
	w.Begin()
	if !w.late() {
		t.Error("the second part runs although all were cancelled")
	}
}

// TestAPartThatHoldsTooMuchIsStopped holds more memory than an evaluation may, and lets go of it.
func TestAPartThatHoldsTooMuchIsStopped(t *testing.T) {
	w := NewWatch(Options{Time: time.Hour, Parts: 2})
	defer w.Stop()
	w.Begin()
	wait := func(what string, done func() bool) {
		for deadline := time.Now().Add(time.Minute); !done(); <-time.After(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal(what)
			}
		}
	}
	<-time.After(4 * interval) // the first look is where growth is counted from
	held := make([][]byte, 0, 64)
	wait("it isn't stopped", func() bool {
		if len(held) < cap(held) {
			held = append(held, make([]byte, 4<<20))
		}
		return w.Exhausted()
	})
	if !w.Cancelled() {
		t.Error("the part that made too much goes on")
	}
	runtime.KeepAlive(held)
	w.Begin()
	<-time.After(4 * interval)
	if w.Cancelled() || w.Exhausted() {
		t.Error("the next part is stopped, too")
	}
}

// TestWhatIsComparedIsBounded has one value of a few parts stand for 2^60, when it is written out.
func TestWhatIsComparedIsBounded(t *testing.T) {
	small, large := ast.MustParseTerm(`["a"]`), ast.MustParseTerm(`["a"]`)
	for range 60 {
		large = ast.ArrayTerm(large, large)
	}
	many := make([]*ast.Term, 100_000)
	for i := range many {
		many[i] = small
	}
	list, long := ast.ArrayTerm(many...), ast.NumberTerm(json.Number(strings.Repeat("1", 15_000)))
	for name, tc := range map[string]struct {
		operands []*ast.Term
		check    func([]*ast.Term) error
		allowed  bool
	}{
		"with what is small":     {[]*ast.Term{large, small}, comparison, true},
		"what is small":          {[]*ast.Term{small, large}, comparison, true},
		"both are large":         {[]*ast.Term{large, large}, comparison, false},
		"long numbers":           {[]*ast.Term{long, long}, comparison, false},
		"a small element":        {[]*ast.Term{small, list}, ofMember, true},
		"a large one of few":     {[]*ast.Term{large, small}, ofMember, true},
		"a key and an element":   {[]*ast.Term{large, small, list}, ofMember, true},
		"large ones":             {[]*ast.Term{large, ast.ArrayTerm(small, large)}, ofMember, false},
		"the largest of a few":   {[]*ast.Term{list}, sizes(maxCompared), true},
		"the largest of them":    {[]*ast.Term{ast.ArrayTerm(large, large)}, sizes(maxCompared), false},
		"a sort of long numbers": {[]*ast.Term{ast.ArrayTerm(long, long, long, long)}, sizes(maxCompared), false},
	} {
		if err := tc.check(tc.operands); (err == nil) != tc.allowed {
			t.Errorf("%s: %v, allowed %v", name, err, tc.allowed)
		}
	}
}

func TestASizeIsBounded(t *testing.T) {
	small := ast.MustParseTerm(`["a", 1, {"b": {true, null}}]`)
	large := small
	for range 60 {
		large = ast.ArrayTerm(large, large)
	}
	if got := Size(small.Value, 1000); got < 20 || got > 40 {
		t.Errorf("the size is %d, want that of the JSON", got)
	}
	for name, v := range map[string]ast.Value{
		"a list": large.Value, "a set": ast.NewSet(large), "a key": ast.NewObject(ast.Item(large, small)),
		"a value": ast.NewObject(ast.Item(ast.StringTerm("a"), large)),
	} {
		if got := Size(v, 1000); got <= 1000 || got > 2000 {
			t.Errorf("%s of shared parts: %d, want a little more than 1000", name, got)
		}
	}
}
