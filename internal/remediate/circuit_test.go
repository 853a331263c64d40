package remediate

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/evenkeel/internal/canary"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clientevents "k8s.io/client-go/tools/events"

	clocktesting "k8s.io/utils/clock/testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/escalate"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

// counted is a scan that has found so many violating objects.
type counted struct {
	objects  int
	revision string
	complete bool
	in       []v1alpha1.ViolatingNamespace
	found    []policy.Finding
}

func (c *counted) Violating(string) (int, string, bool) { return c.objects, c.revision, c.complete }

func (c *counted) ViolatingIn(string) []v1alpha1.ViolatingNamespace { return c.in }

func (c *counted) Findings(string) ([]policy.Finding, string, bool) {
	return c.found, c.revision, c.complete
}

// circuit is the breakers, kept in memory, with the policy "tags" in force.
type circuit struct {
	*testing.T
	*breakers
	control  *BreakerController
	options  breakerOptions
	ctx      context.Context
	time     *clocktesting.FakePassiveClock
	catalog  *catalog.Catalog
	scan     *counted
	answers  *fakeAnalyzer
	recorded chan string
	registry *prometheus.Registry
	kept     *breakerMemory
	// namespaces are those that are there.
	namespaces map[string]bool
}

func newCircuit(t *testing.T, kept ...*v1alpha1.RemediationBreaker) *circuit {
	t.Helper()
	c := &circuit{T: t, ctx: t.Context(), time: clocktesting.NewFakePassiveClock(noon), catalog: catalog.New(catalog.Options{}),
		answers: &fakeAnalyzer{answers: map[string]float64{}}, registry: prometheus.NewRegistry(), scan: &counted{},
		kept: memoryOf(kept...), namespaces: map[string]bool{}}
	recorder := clientevents.NewFakeRecorder(100)
	c.recorded = recorder.Events
	c.options = breakerOptions{Store: c.kept, Cached: c.kept, HasNamespace: c.isThere, Policies: c.catalog, Findings: c.scan, Analyzer: c.answers,
		Clock: c.time, Events: escalate.NewRecorder(recorder), Metrics: c.registry}
	c.with(func(*breakerOptions) {})
	c.policy("missing", func(*v1alpha1.RolloutStrategy) {})
	c.catalog.MarkComplete()
	return c
}

// with makes the breakers anew, as a manager that starts does, by other options.
func (c *circuit) with(change func(*breakerOptions)) {
	change(&c.options)
	c.breakers = newBreakers(c.options)
	c.control = newBreakerController(c.breakers)
}

// restart makes the breakers anew, with figures of their own.
func (c *circuit) restart() {
	c.registry = prometheus.NewRegistry()
	c.with(func(o *breakerOptions) { o.Metrics = c.registry })
}

// change lets something work on a breaker's status, behind everybody's back.
func (c *circuit) change(scope v1alpha1.BreakerScope, change func(*v1alpha1.RemediationBreaker)) {
	c.Helper()
	cb, err := c.ensure(c.ctx, scope)
	c.must(err)
	before := cb.DeepCopy()
	change(cb)
	c.must(c.kept.WriteStatus(c.ctx, before, cb))
}

// figures are the values of a gauge by its labels' values, in the order of their names.
func (c *circuit) figures(name string) map[string]float64 {
	c.Helper()
	families, err := c.registry.Gather()
	c.must(err)
	out := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			if family.GetName() == name {
				out[strings.Join(labels, "/")] = m.GetGauge().GetValue()
			}
		}
	}
	return out
}

// policy puts the policy "tags" in force; another message is another revision.
func (c *circuit) policy(message string, change func(*v1alpha1.RolloutStrategy)) {
	c.Helper()
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "tags", UID: "policy-uid", Generation: 1}, Spec: v1alpha1.RegoPolicySpec{
		Title: "Tags", Rego: v1alpha1.RegoSource{File: "tags.rego", Main: "package tags\n\nimport rego.v1\n\ndeny contains \"" + message + "\" if not input.object.metadata.labels.tag\n"},
		Match: v1alpha1.Match{Resources: []v1alpha1.ResourceMatch{{APIGroups: []string{""}, Kinds: []string{"ConfigMap"}}}}}}
	p.Spec.Remediation.Mode = v1alpha1.RemediationAutomatic
	change(&p.Spec.Remediation.RolloutStrategy)
	p.SetDefaults()
	if err := c.catalog.Set(p); err != nil {
		c.Fatal(err)
	}
	c.scan.revision, c.scan.complete = c.revision("tags"), true
}

func (c *circuit) plan(name string) *v1alpha1.Remediation {
	rem := &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RemediationSpec{
		Plan: v1alpha1.RemediationPlan{Policy: v1alpha1.PlannedPolicy{Name: "tags", UID: "policy-uid", Revision: c.revision("tags")}, Hash: name, Waves: []int32{1},
			Strategy: v1alpha1.RolloutStrategy{Mode: v1alpha1.RemediationAutomatic}}}}
	rem.Spec.Plan.Strategy.SetDefaults()
	return rem
}

// after lets time pass.
func (c *circuit) after(d time.Duration) { c.time.SetTime(c.time.Now().Add(d)) }

func (c *circuit) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c *circuit) admitted(rem *v1alpha1.Remediation) Gate {
	c.Helper()
	gate, err := c.admit(c.ctx, rem, nil)
	c.must(err)
	return gate
}

// read reads a breaker; nil when there is none.
func (c *circuit) read(name string) *v1alpha1.RemediationBreaker {
	c.Helper()
	cb, err := c.kept.Get(c.ctx, name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	c.must(err)
	return cb
}

// in makes namespaces.
func (c *circuit) in(namespaces ...string) *circuit {
	for _, name := range namespaces {
		c.namespaces[name] = true
	}
	return c
}

func (c *circuit) isThere(_ context.Context, namespace string) (bool, error) {
	return c.namespaces[namespace], nil
}

// reconciled lets the breakers' controller look at one.
func (c *circuit) reconciled(name string) *v1alpha1.RemediationBreaker {
	c.Helper()
	_, err := c.control.Reconcile(c.ctx, ctrl.Request{NamespacedName: client.ObjectKey{Name: name}})
	c.must(err)
	return c.read(name)
}

// told are the events recorded since it was last asked.
func (c *circuit) told() string {
	var all []string
	for {
		select {
		case e := <-c.recorded:
			all = append(all, e)
		default:
			return strings.Join(all, "\n")
		}
	}
}

// failed is the outcome of a target that failed in a namespace.
func failed(key, in string) Outcome {
	return Outcome{Type: OutcomeFailed, Key: key, Count: 1, Namespaces: map[string]int32{in: 1}}
}

// canaryFails records that the canary of a policy's plan has failed in a namespace.
func (c *circuit) canaryFails(policy, in string) {
	c.Helper()
	rem := c.plan(policy + "-" + in)
	rem.Spec.Plan.Policy.Name = policy
	c.must(c.record(c.ctx, rem, []Outcome{
		{Type: OutcomeCanaryFailed, Key: rem.Name, Count: 1, Namespaces: map[string]int32{in: 1}},
		{Type: OutcomePlanFailed, Key: rem.Name + "/plan", Count: 1, Namespaces: map[string]int32{in: 1}}}))
}

// stateOf is the state of a breaker.
func (c *circuit) stateOf(name string) v1alpha1.BreakerState {
	c.Helper()
	return c.read(name).Status.State
}

// observation is a plan at its canary with one target in each namespace, in waves
// as they are given.
func observation(rem *v1alpha1.Remediation, waves map[string]int32) *Observation {
	o := &Observation{Spec: rem.Spec}
	for _, in := range []string{"shop", "bank", ""} {
		if wave, ok := waves[in]; ok {
			o.Targets = append(o.Targets, TargetView{State: v1alpha1.TargetPending, Wave: wave,
				Object: v1alpha1.ObjectReference{Kind: "ConfigMap", Namespace: in, Name: "c"}})
		}
	}
	return o
}

// barredIn are the namespaces whose target is kept back.
func (c *circuit) barredIn(rem *v1alpha1.Remediation, waves map[string]int32) []string {
	c.Helper()
	o := observation(rem, waves)
	c.must(c.bar(c.ctx, rem, o))
	var in []string
	for _, t := range o.Targets {
		if t.Barred != "" {
			in = append(in, t.Object.Namespace)
		}
	}
	return in
}

// writes asks the breakers as right before a write in namespaces.
func (c *circuit) writes(rem *v1alpha1.Remediation, in ...string) Gate {
	c.Helper()
	namespaces := map[string]bool{}
	for _, namespace := range in {
		namespaces[namespace] = true
	}
	gate, err := c.admit(c.ctx, rem, namespaces)
	c.must(err)
	return gate
}

// half makes a breaker of the namespace shop that has just cooled down.
func half() *v1alpha1.RemediationBreaker {
	opened, next := metav1.NewMicroTime(noon.Add(-time.Hour)), metav1.NewMicroTime(noon.Add(-time.Minute))
	return &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: "namespace-shop"},
		Spec: v1alpha1.RemediationBreakerSpec{Scope: namespaceScope("shop")},
		Status: v1alpha1.RemediationBreakerStatus{State: v1alpha1.BreakerHalfOpen, Reason: canary.ReasonProbing, Message: "Half-open.",
			OpenedAt: &opened, NextProbeAt: &next, Openings: 1}}
}

// opened lets a canary fail, and the policy's breaker open.
func (c *circuit) opened(key string) {
	c.Helper()
	c.must(c.record(c.ctx, c.plan("a"), []Outcome{{Type: OutcomeCanaryFailed, Key: key, Count: 1}}))
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fakeAnalyzer answers each query with what is set for it.
type fakeAnalyzer struct {
	mu      sync.Mutex
	answers map[string]float64
	asked   []string
}

func (f *fakeAnalyzer) Sample(_ context.Context, query string) (float64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, query)
	value, found := f.answers[query]
	if !found {
		return 0, errors.New("no data")
	}
	return value, nil
}
