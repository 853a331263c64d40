// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/engines"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// differing tells a comparer of a verdict on a policy that its compiled rules never gave.
func differing(t *testing.T, compared *engines.Comparer, definition *v1alpha1.ClusterRegoPolicy) {
	t.Helper()
	c, err := rego.Compile(definition)
	if err != nil {
		t.Fatal(err)
	}
	in, err := rego.NewInput(podRequest())
	if err != nil {
		t.Fatal(err)
	}
	compared.Judged(podRequest(), engines.Evaluation{Policy: c, Input: in, Limit: time.Minute,
		Decision: policy.Decision{Engine: rego.CompiledEngine}})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	said := told(make(chan struct{}))
	compared.RecordTo(said)
	go func() { _ = compared.Start(ctx) }()
	<-said
}

// told is closed when an event is recorded.
type told chan struct{}

func (c told) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) { close(c) }

// TestTopdownJudgesWhatTheEnginesDifferOn follows one policy from the compiled engine to topdown and,
// with its next revision, back; the other isn't touched.
func TestTopdownJudgesWhatTheEnginesDifferOn(t *testing.T) {
	compared, err := engines.New(engines.Options{Share: 1, Registerer: prometheus.NewRegistry(), Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	c := catalog.New(catalog.Options{TimeLimit: time.Minute, Engine: rego.CompiledEngine, Engines: compared})
	set := func(p *v1alpha1.ClusterRegoPolicy) {
		t.Helper()
		if err := c.Set(p); err != nil {
			t.Fatal(err)
		}
	}
	judges := func(reason string, a, b v1alpha1.PolicyEngine) {
		t.Helper()
		want := map[string]v1alpha1.PolicyEngine{"a": a, "b": b}
		for _, r := range c.Snapshot().Evaluate(t.Context(), podRequest()) {
			is := v1alpha1.PolicyEngine{Name: string(r.Engine), Reason: r.WhyTopdown, Message: want[r.Policy].Message}
			if is != want[r.Policy] || len(r.Violations) != 1 {
				t.Errorf("%s: %s is judged by %s (%s): %v", reason, r.Policy, r.Engine, r.WhyTopdown, r.Violations)
			}
		}
		for name, engine := range want {
			status, _ := c.Status(name)
			if diff := cmp.Diff(&engine, status.Engine); diff != "" {
				t.Errorf("%s: status of %s (-want +got):\n%s", reason, name, diff)
			}
		}
	}
	compiled := v1alpha1.PolicyEngine{Name: "compiled"}
	set(saying("a", "first"))
	set(saying("b", "second"))
	judges("at first", compiled, compiled)

	differing(t, compared, saying("a", "first"))
	judges("once they differ", v1alpha1.PolicyEngine{Name: "topdown", Reason: v1alpha1.ReasonEnginesDiffer,
		Message: "the compiled engine has given another verdict than topdown"}, compiled)

	set(saying("a", "another revision"))
	judges("a new revision", compiled, compiled)

	differing(t, compared, saying("a", "another revision"))
	c.Delete("a")
	set(saying("a", "another revision"))
	judges("made anew", compiled, compiled)
}
