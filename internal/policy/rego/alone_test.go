// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"fmt"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// TestFewPoliciesAreGivenWhatTheyReadAlone has one policy read what can't be converted: the first few others don't
// notice, and those behind them are given the input that all share.
func TestFewPoliciesAreGivenWhatTheyReadAlone(t *testing.T) {
	var all []*rego.Compiled
	for i := range 5 {
		all = append(all, compile(t, podPolicy(header+
			fmt.Sprintf(`deny contains "x" if input.object.metadata.labels.l%d == "none"`, i))).On(rego.CompiledEngine))
	}
	reader := compile(t, podPolicy(header+`deny contains "x" if input.object.spec.odd == 1`)).On(rego.CompiledEngine)
	r := podRequest()
	r.Object["spec"].(map[string]any)["odd"] = make(chan int)
	for _, test := range []struct {
		name  string
		of    func(*rego.Compiled) *rego.Compiled
		alone int
	}{
		{"with a memory", (*rego.Compiled).Reusing, 3},
		{"without one", func(c *rego.Compiled) *rego.Compiled { return c }, 0},
	} {
		in, err := rego.NewInputOf(r, rego.ReadBy(policy.PodKind(), append(all, reader)...))
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range all {
			got := test.of(c).Evaluate(t.Context(), in, time.Minute)
			if alone := got.Err == nil; alone != (i < test.alone) {
				t.Errorf("%s: policy %d, error %v", test.name, i, got.Err)
			}
		}
	}
}

// TestPoliciesShareAnInputWhereMostAreEvaluated has the same policies judge other objects, of which hardly any verdict
// is reused, then the same object again and again, and each time one in which nothing can be converted.
func TestPoliciesShareAnInputWhereMostAreEvaluated(t *testing.T) {
	var all []*rego.Compiled
	for i := range 5 {
		all = append(all, compile(t, podPolicy(header+
			fmt.Sprintf(`deny contains "x" if input.object.metadata.labels.l%d == "none"`, i))).
			On(rego.CompiledEngine).Reusing())
	}
	reader := compile(t, podPolicy(header+`deny contains "x" if input.object.spec.odd == 1`)).On(rego.CompiledEngine)
	read := rego.ReadBy(policy.PodKind(), append(all, reader)...)
	judge := func(label string, odd any) (alone int) {
		r := podRequest()
		r.Object["spec"].(map[string]any)["odd"] = odd
		labels := map[string]any{}
		for i := range all {
			labels[fmt.Sprintf("l%d", i)] = label
		}
		r.Object["metadata"].(map[string]any)["labels"] = labels
		in, err := rego.NewInputOf(r, read)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			if got := c.Evaluate(t.Context(), in, time.Minute); got.Err == nil {
				alone++
			}
		}
		return alone
	}
	for n := range 300 {
		judge(fmt.Sprint("a", n), int64(2))
	}
	if alone := judge("b", make(chan int)); alone != 0 {
		t.Errorf("%d policies are given an input of their own, though all are evaluated", alone)
	}
	for range 6000 {
		judge("c", int64(2))
	}
	if alone := judge("d", make(chan int)); alone != 3 {
		t.Errorf("%d policies are given an input of their own, though hardly any is evaluated", alone)
	}
}
