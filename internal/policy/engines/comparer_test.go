// SPDX-License-Identifier: Apache-2.0

package engines_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/engines"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/policy/rego/facts"
)

const rules = `package test

import rego.v1

deny contains {"msg": "no tag", "path": "/spec/image", "details": {"image": input.object.spec.image}} if {
	not contains(input.object.spec.image, ":")
}

warn contains "old" if input.object.spec.old
`

// bench is a comparer with what it tells.
type bench struct {
	comparer *engines.Comparer
	registry *prometheus.Registry
	log      bytes.Buffer
	events   []string
}

func (b *bench) Eventf(_, _ runtime.Object, eventType, reason, _, note string, args ...any) {
	b.events = append(b.events, eventType+" "+reason+" "+fmt.Sprintf(note, args...))
}

func newBench(t *testing.T, share float64) *bench {
	t.Helper()
	b := &bench{registry: prometheus.NewRegistry()}
	log := funcr.New(func(_, args string) { b.log.WriteString(args + "\n") }, funcr.Options{})
	var err error
	if b.comparer, err = engines.New(engines.Options{Share: share, Registerer: b.registry, Log: log}); err != nil {
		t.Fatal(err)
	}
	b.comparer.RecordTo(b)
	return b
}

// series are the values of a metric by its one label.
func (b *bench) series(t *testing.T, name string) map[string]float64 {
	t.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			out[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return out
}

// wants holds the counts of comparisons.
func (b *bench) wants(t *testing.T, results map[string]float64) {
	t.Helper()
	got := b.series(t, "evenkeel_engine_comparisons_total")
	for result, n := range got {
		if n != results[result] {
			t.Errorf("%v are %s, want %v", n, result, results[result])
		}
	}
	if len(got) != 4 {
		t.Errorf("the series that are there from the start are %v", got)
	}
}

func compiled(t *testing.T, source string) *rego.Compiled {
	t.Helper()
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "tags"}}
	p.Spec.Rego.Main = source
	c, err := rego.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	return c.On(rego.CompiledEngine)
}

func request(i int) *policy.Request {
	return policy.NewAudit(map[string]any{"apiVersion": "v1", "kind": "Widget",
		"metadata": map[string]any{"name": fmt.Sprint(i), "uid": fmt.Sprint("uid-", i), "resourceVersion": "1"},
		"spec":     map[string]any{"image": "private-data", "old": true}}, nil, time.Unix(1_700_000_000, 0))
}

// judged is what the compiled engine says of a request.
func judged(t *testing.T, c *rego.Compiled, r *policy.Request) engines.Evaluation {
	t.Helper()
	in, err := rego.NewInput(r)
	if err != nil {
		t.Fatal(err)
	}
	e := engines.Evaluation{Policy: c, Input: in, Limit: time.Minute,
		Decision: c.Evaluate(t.Context(), in, time.Minute)}
	if e.Decision.Engine != rego.CompiledEngine {
		t.Fatalf("judged by %s: %v", e.Decision.Engine, e.Decision.Err)
	}
	return e
}

// TestAFieldThatIsReadAndNotKnownIsNoticed judges by a part of the object that lacks what the rules read.
func TestAFieldThatIsReadAndNotKnownIsNoticed(t *testing.T) {
	b, c := newBench(t, 1), compiled(t, rules)
	r := request(0)
	part, err := rego.NewInputOf(r, rego.Read{Object: facts.Field("metadata")})
	if err != nil {
		t.Fatal(err)
	}
	b.comparer.Judged(r, engines.Evaluation{Policy: c, Input: part, Limit: time.Minute,
		Decision: c.Evaluate(t.Context(), part, time.Minute)})
	b.comparer.Drain(t.Context())
	b.wants(t, map[string]float64{"different": 1})
	if !b.comparer.Disputed(c) {
		t.Error("the policy isn't left to topdown")
	}
}

func TestEnginesThatAgreeAreLeftAlone(t *testing.T) {
	b, c := newBench(t, 1), compiled(t, rules)
	for i := range 5 {
		b.comparer.Judged(request(i), judged(t, c, request(i)))
	}
	b.comparer.Drain(t.Context())
	b.wants(t, map[string]float64{"same": 5})
	if b.comparer.Disputed(c) || len(b.events) > 0 || b.log.Len() > 0 {
		t.Errorf("they agree, but: %v, %s", b.events, &b.log)
	}
}

// TestARevisionOfWhichTheEnginesDifferIsTopdowns gives the comparer a verdict that the compiled engine
// never gave, of each form.
func TestARevisionOfWhichTheEnginesDifferIsTopdowns(t *testing.T) {
	for name, forge := range map[string]struct {
		forge func(*policy.Decision)
		part  string
	}{
		"a violation is missing":   {func(d *policy.Decision) { d.Violations = nil }, "violations"},
		"a message is another one": {func(d *policy.Decision) { d.Violations[0].Message = "other" }, "violations"},
		"a path is another one":    {func(d *policy.Decision) { d.Violations[0].Path = "/other" }, "violations"},
		"details are others":       {func(d *policy.Decision) { d.Violations[0].Details = "other" }, "violations"},
		"a warning is missing":     {func(d *policy.Decision) { d.Warnings = nil }, "warnings"},
		"the order is another one": {func(d *policy.Decision) {
			d.Warnings = append([]policy.Violation{{Message: "x"}}, d.Warnings...)
		}, "warnings"},
		"there is a fix": {func(d *policy.Decision) {
			d.Actions = []policy.Action{{Type: policy.ActionDelete}}
		}, "fixes"},
	} {
		t.Run(name, func(t *testing.T) {
			b, c := newBench(t, 1), compiled(t, rules)
			for i := range 2 {
				e := judged(t, c, request(i))
				forge.forge(&e.Decision)
				b.comparer.Judged(request(i), e)
			}
			b.comparer.Drain(t.Context())
			b.wants(t, map[string]float64{"different": 2})
			if !b.comparer.Disputed(c) {
				t.Error("the compiled engine goes on judging")
			}
			if len(b.events) != 1 || !strings.HasPrefix(b.events[0], "Warning EnginesDiffer revision "+c.Revision()) ||
				!strings.Contains(b.events[0], forge.part) {
				t.Errorf("one event is to tell of %s: %q", forge.part, b.events)
			}
			for _, part := range []string{`"policy"="tags"`, c.Revision(), `"engine"="compiled"`, `"digest"="`} {
				if !strings.Contains(b.log.String(), part) {
					t.Errorf("the log lacks %s: %s", part, &b.log)
				}
			}
			if told := b.log.String() + strings.Join(b.events, ""); strings.Contains(told, "private-data") {
				t.Errorf("it tells what the object holds: %s", told)
			}
		})
	}
}

func TestANewRevisionIsTriedAgain(t *testing.T) {
	b, c := newBench(t, 1), compiled(t, rules)
	e := judged(t, c, request(1))
	e.Decision.Violations = nil
	b.comparer.Judged(request(1), e)
	b.comparer.Drain(t.Context())
	differ := func() int { return len(b.series(t, "evenkeel_policy_engines_differ")) }
	if !b.comparer.Disputed(c) || differ() != 1 {
		t.Fatalf("it isn't disputed, or %d series say so", differ())
	}
	if next := compiled(t, rules+"\n# another revision\n"); b.comparer.Disputed(next) || differ() != 0 {
		t.Errorf("the new revision is disputed, or %d series say so", differ())
	}
}

// TestWhatTopdownIsStoppedAtIsNotCompared asks for more than the time limit allows, and of a process
// that ends.
func TestWhatTopdownIsStoppedAtIsNotCompared(t *testing.T) {
	slow := compiled(t, `package test

import rego.v1

deny contains "x" if {
	count([1 | some a in numbers.range(1, 300); some b in numbers.range(1, 300); a == b]) == 300
}
`)
	b := newBench(t, 1)
	e := judged(t, slow, request(1))
	e.Limit, e.Decision.Violations = time.Nanosecond, nil
	b.comparer.Judged(request(1), e)
	ended, stop := context.WithCancel(t.Context())
	b.comparer.Drain(ended)
	e = judged(t, slow, request(1))
	e.Decision.Violations = nil
	b.comparer.Judged(request(1), e)
	stop()
	b.comparer.Drain(ended)
	b.wants(t, map[string]float64{"not_compared": 2})
	if b.comparer.Disputed(slow) {
		t.Error("a limit is taken for a difference")
	}
}

// TestWhatFindsNoRoomIsSkipped holds that nobody waits for the comparison, which hasn't begun here.
func TestWhatFindsNoRoomIsSkipped(t *testing.T) {
	b, c := newBench(t, 1), compiled(t, rules)
	for i := range 70 {
		b.comparer.Judged(request(i), judged(t, c, request(i)))
	}
	b.wants(t, map[string]float64{"skipped": 6})
	large := request(100)
	large.Object["spec"].(map[string]any)["filler"] = strings.Repeat("x", 8<<20)
	empty := newBench(t, 1)
	empty.comparer.Judged(large, judged(t, c, large))
	empty.wants(t, map[string]float64{"skipped": 1})
}

// TestTheShareIsTheSameEachTime chooses by revision and object, without random numbers.
func TestTheShareIsTheSameEachTime(t *testing.T) {
	c := compiled(t, rules)
	in, err := rego.NewInput(request(0))
	if err != nil {
		t.Fatal(err)
	}
	e := engines.Evaluation{Policy: c, Input: in, Decision: policy.Decision{Engine: rego.CompiledEngine}, Limit: 1}
	taken := func(share float64) int {
		b := newBench(t, share)
		for i := range 20_000 {
			b.comparer.Judged(request(i), e)
		}
		return int(b.series(t, "evenkeel_engine_comparisons_total")["skipped"]) // all but those that wait
	}
	if first, again := taken(0.1), taken(0.1); first != again || first < 1800 || first > 2050 {
		t.Errorf("%d, then %d of 20,000 for a tenth", first, again)
	}
	if none := taken(0); none != 0 {
		t.Errorf("%d for none", none)
	}
	if all := taken(1); all != 20_000-64 {
		t.Errorf("%d for all", all)
	}
}

// TestPoliciesAreComparedOfTheSameRequests has twenty policies judge: a hundredth of what they say is compared, of fewer
// requests than if each policy were compared of others.
func TestPoliciesAreComparedOfTheSameRequests(t *testing.T) {
	const policies, requests, share = 20, 20_000, 0.01
	b := newBench(t, share)
	compared := func() (sum int) {
		b.comparer.Drain(t.Context())
		for _, n := range b.series(t, "evenkeel_engine_comparisons_total") {
			sum += int(n)
		}
		return sum
	}
	var all []engines.Evaluation
	for i := range policies {
		c := compiled(t, fmt.Sprintf("%s\n# %d\n", rules, i))
		in, err := rego.NewInput(request(0))
		if err != nil {
			t.Fatal(err)
		}
		decision := policy.Decision{Engine: rego.CompiledEngine}
		all = append(all, engines.Evaluation{Policy: c, Input: in, Decision: decision})
	}
	of, before := 0, 0
	for i := range requests {
		for _, e := range all {
			b.comparer.Judged(request(i), e)
		}
		now := compared()
		if now > before {
			of++
		}
		before = now
	}
	if want := policies * requests / 100; before < want*9/10 || before > want*11/10 || before < 3*of {
		t.Errorf("%d verdicts are compared, of %d requests; want %d, of few", before, of, want)
	}
}

// BenchmarkJudged is what a decision costs the request that isn't chosen.
func BenchmarkJudged(b *testing.B) {
	comparer, err := engines.New(engines.Options{Share: 0.000001, Registerer: prometheus.NewRegistry()})
	if err != nil {
		b.Fatal(err)
	}
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "tags"}}
	p.Spec.Rego.Main = rules
	c, err := rego.Compile(p)
	if err != nil {
		b.Fatal(err)
	}
	in, err := rego.NewInput(request(1))
	if err != nil {
		b.Fatal(err)
	}
	e := engines.Evaluation{Policy: c, Input: in, Decision: policy.Decision{Engine: rego.CompiledEngine}}
	r := request(1)
	b.ReportAllocs()
	for b.Loop() {
		comparer.Judged(r, e)
	}
}
