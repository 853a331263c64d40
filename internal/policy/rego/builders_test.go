// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// podPolicy is a policy named test on Pods, with one module test.rego.
func podPolicy(source string) *v1alpha1.ClusterRegoPolicy {
	return &v1alpha1.ClusterRegoPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "test"},
		Spec: v1alpha1.RegoPolicySpec{
			Rego: v1alpha1.RegoSource{File: "test.rego", Main: source},
			Match: v1alpha1.Match{
				Kinds: []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"Pod"}}}},
		},
	}
}

func podRequest() *policy.Request {
	return &policy.Request{
		UID:       "u1",
		Operation: policy.Create,
		Kind:      policy.GroupVersionKind{Version: "v1", Kind: "Pod"},
		Resource:  "pods",
		Namespace: "team",
		Name:      "web",
		Object: map[string]any{
			"apiVersion": "v1",
			"kind":       "Pod",
			"metadata":   map[string]any{"name": "web", "namespace": "team"},
			"spec": map[string]any{
				"containers": []any{map[string]any{"name": "app", "image": "example.com/app:1"}},
			},
		},
		Now: time.Unix(1_700_000_000, 0),
	}
}

func compile(tb testing.TB, p *v1alpha1.ClusterRegoPolicy) *rego.Compiled {
	tb.Helper()
	c, err := rego.Compile(p)
	if err != nil {
		tb.Fatalf("compile: %v", err)
	}
	return c
}

func input(tb testing.TB, r *policy.Request) *rego.Input {
	tb.Helper()
	in, err := rego.NewInput(r)
	if err != nil {
		tb.Fatalf("input: %v", err)
	}
	return in
}

func judge(tb testing.TB, p *v1alpha1.ClusterRegoPolicy, r *policy.Request) policy.Decision {
	tb.Helper()
	return evaluate(tb, compile(tb, p), input(tb, r), time.Minute)
}

// evaluate judges by both engines, and has them agree.
func evaluate(tb testing.TB, c *rego.Compiled, in *rego.Input, limit time.Duration) policy.Decision {
	tb.Helper()
	decision := c.Evaluate(tb.Context(), in, limit)
	compiled := c.On(rego.CompiledEngine).Evaluate(tb.Context(), in, limit)
	if (compiled.Engine == rego.Topdown) != (compiled.WhyTopdown != "") {
		tb.Errorf("the compiled engine is told as %q, left for %q", compiled.Engine, compiled.WhyTopdown)
	}
	if diff := cmp.Diff(decision, compiled, cmp.Comparer(sameError),
		cmpopts.IgnoreFields(policy.Decision{}, "Engine", "WhyTopdown")); diff != "" {
		tb.Errorf("the engines differ (-topdown +compiled):\n%s", diff)
	}
	return decision
}

func sameError(a, b error) bool {
	return (a == nil) == (b == nil) && (a == nil || a.Error() == b.Error())
}

// wantError holds a decision to an error that has every part, and to no fix.
func wantError(tb testing.TB, reason string, got policy.Decision, parts ...string) {
	tb.Helper()
	wantParts(tb, reason, got.Err, parts)
	if got.Clean() || len(got.Actions) > 0 || got.FixErr != nil {
		tb.Errorf("%s: a failed decision is clean or has a fix: %+v", reason, got)
	}
}

// wantFixError holds a decision to a verdict that stands, and to an error of its
// fix that has every part.
func wantFixError(tb testing.TB, reason string, got policy.Decision, parts ...string) {
	tb.Helper()
	wantParts(tb, reason, got.FixErr, parts)
	if got.Err != nil || len(got.Violations) == 0 || len(got.Actions) > 0 {
		tb.Errorf("%s: a failed fix touches the verdict, or is offered: %+v", reason, got)
	}
}

func wantParts(tb testing.TB, reason string, err error, parts []string) {
	tb.Helper()
	if err == nil {
		tb.Fatalf("%s: no error", reason)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			tb.Errorf("%s: error %q lacks %q", reason, err, part)
		}
	}
}
