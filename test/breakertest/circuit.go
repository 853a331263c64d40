// SPDX-License-Identifier: Apache-2.0

package breakertest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/fixture"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clientevents "k8s.io/client-go/tools/events"

	clocktesting "k8s.io/utils/clock/testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/events"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

// Scan is a scan that has found so many violating objects.
type Scan struct {
	Objects  int
	revision string
	Complete bool
	in       []v1alpha1.ViolatingNamespace
	Found    []policy.Finding
}

// Violating is how many objects violate.
func (c *Scan) Violating(string) (int, string, bool) { return c.Objects, c.revision, c.Complete }

// ViolatingIn is how many of them are in which namespace.
func (c *Scan) ViolatingIn(string) []v1alpha1.ViolatingNamespace { return c.in }

// Findings are the violating objects.
func (c *Scan) Findings(string) ([]policy.Finding, string, bool) {
	return c.Found, c.revision, c.Complete
}

// Circuit is the breakers, kept in memory, with the policy "tags" in force.
type Circuit struct {
	*testing.T
	*breaker.Set
	Control  *breaker.Controller
	options  breaker.Options
	Ctx      context.Context
	Time     *clocktesting.FakePassiveClock
	Catalog  *catalog.Catalog
	Scan     *Scan
	Answers  *Analyzer
	recorded chan string
	registry *prometheus.Registry
	Kept     *Memory
}

// New makes the breakers, with those that are kept already.
func New(t *testing.T, kept ...*v1alpha1.RemediationBreaker) *Circuit {
	t.Helper()
	c := &Circuit{T: t, Ctx: t.Context(), Time: clocktesting.NewFakePassiveClock(Noon),
		Catalog: catalog.New(catalog.Options{}),
		Answers: &Analyzer{Answers: map[string]float64{}}, registry: prometheus.NewRegistry(), Scan: &Scan{},
		Kept: MemoryOf(kept...)}
	recorder := clientevents.NewFakeRecorder(100)
	c.recorded = recorder.Events
	c.options = breaker.Options{Reader: c.Kept, Client: c.Kept, Policies: c.Catalog,
		Findings: c.Scan, Analyzer: c.Answers,
		Clock: c.Time, Events: events.NewRecorder(recorder), Metrics: c.registry}
	c.With(func(*breaker.Options) {})
	c.Policy("missing", func(*fixture.Rollout) {})
	c.Catalog.MarkComplete()
	return c
}

// With makes the breakers anew, as a manager that starts does, by other options.
func (c *Circuit) With(change func(*breaker.Options)) {
	change(&c.options)
	c.Set = breaker.New(c.options)
	c.Control = breaker.NewController(c.Set)
}

// Restart makes the breakers anew, with figures of their own.
func (c *Circuit) Restart() {
	c.registry = prometheus.NewRegistry()
	c.With(func(o *breaker.Options) { o.Metrics = c.registry })
}

// Change lets something work on a breaker's status, behind everybody's back.
func (c *Circuit) Change(scope v1alpha1.BreakerScope, change func(*v1alpha1.RemediationBreaker)) {
	c.Helper()
	cb, err := c.Ensure(c.Ctx, scope)
	c.Must(err)
	change(cb)
	c.Must(c.Kept.Status().Update(c.Ctx, cb))
}

// Figures are the values of a gauge by its labels' values, in the order of their names.
func (c *Circuit) Figures(name string) map[string]float64 {
	c.Helper()
	families, err := c.registry.Gather()
	c.Must(err)
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

// Policy puts the policy "tags" in force; another message is another revision.
func (c *Circuit) Policy(message string, change func(*fixture.Rollout)) {
	c.Helper()
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "tags", UID: "policy-uid", Generation: 1},
		Spec: v1alpha1.RegoPolicySpec{
			Title: "Tags", Rego: v1alpha1.RegoSource{
				File: "tags.rego", Main: "package tags\n\nimport rego.v1\n\ndeny contains \"" + message +
					"\" if not input.object.metadata.labels.tag\n"},
			Match: v1alpha1.Match{
				Kinds: []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"ConfigMap"}}}}}}
	r := fixture.Rollout{Mode: v1alpha1.RemediationAutomatic}
	change(&r)
	p.Spec.Remediation.Mode = r.Mode
	p.SetDefaults()
	c.Must(c.Catalog.SetStrategy(&v1alpha1.RemediationStrategy{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.DefaultStrategy}, Spec: r.RemediationStrategySpec}))
	if err := c.Catalog.Set(p); err != nil {
		c.Fatal(err)
	}
	c.Scan.revision, c.Scan.Complete = c.Revision("tags"), true
}

// Plan is a plan of the policy "tags", by its revision in force.
func (c *Circuit) Plan(name string) *v1alpha1.Remediation {
	rem := &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RemediationSpec{
		Plan: v1alpha1.RemediationPlan{
			Policy: v1alpha1.PlannedPolicy{Name: "tags", UID: "policy-uid", Revision: c.Revision("tags")}, Hash: name,
			Waves:   fixture.PlannedWaves(1),
			Rollout: fixture.Planned(v1alpha1.RemediationAutomatic)}}}
	return rem
}

// After lets time pass.
func (c *Circuit) After(d time.Duration) { c.Time.SetTime(c.Time.Now().Add(d)) }

// Must ends the test on an error.
func (c *Circuit) Must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// Admitted asks the breakers as right before a write.
func (c *Circuit) Admitted(rem *v1alpha1.Remediation) rollout.Gate {
	c.Helper()
	gate, err := c.Admit(c.Ctx, rem, nil)
	c.Must(err)
	return gate
}

// Read reads a breaker; nil when there is none.
func (c *Circuit) Read(name string) *v1alpha1.RemediationBreaker {
	c.Helper()
	cb := &v1alpha1.RemediationBreaker{}
	err := c.Kept.Get(c.Ctx, client.ObjectKey{Name: name}, cb)
	if apierrors.IsNotFound(err) {
		return nil
	}
	c.Must(err)
	return cb
}

// In makes namespaces.
func (c *Circuit) In(namespaces ...string) *Circuit {
	for _, name := range namespaces {
		c.Kept.Namespaces[name] = true
	}
	return c
}

// Reconciled lets the breakers' controller look at one.
func (c *Circuit) Reconciled(name string) *v1alpha1.RemediationBreaker {
	c.Helper()
	_, err := c.Control.Reconcile(c.Ctx, ctrl.Request{NamespacedName: client.ObjectKey{Name: name}})
	c.Must(err)
	return c.Read(name)
}

// Told are the events recorded since it was last asked.
func (c *Circuit) Told() string {
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

// Failed is the outcome of a target that failed in a namespace.
func Failed(key, in string) rollout.Outcome {
	return rollout.Outcome{Type: circuit.TargetFailed, Key: key, Count: 1, Namespaces: map[string]int32{in: 1}}
}

// CanaryFails records that the canary of a policy's plan has failed in a namespace.
func (c *Circuit) CanaryFails(policy, in string) {
	c.Helper()
	rem := c.Plan(policy + "-" + in)
	rem.Spec.Plan.Policy.Name = policy
	c.Must(c.Record(c.Ctx, rem, []rollout.Outcome{
		{Type: circuit.CanaryFailed, Key: rem.Name, Count: 1, Namespaces: map[string]int32{in: 1}},
		{Type: circuit.PlanFailed, Key: rem.Name + "/plan", Count: 1, Namespaces: map[string]int32{in: 1}}}))
}

// StateOf is the state of a breaker.
func (c *Circuit) StateOf(name string) v1alpha1.BreakerState {
	c.Helper()
	return c.Read(name).Status.State
}

// Observation is a plan at its canary with one target in each namespace, in waves
// as they are given.
func Observation(rem *v1alpha1.Remediation, waves map[string]int32) *rollout.Observation {
	o := &rollout.Observation{Spec: rem.Spec}
	for _, in := range []string{"shop", "bank", ""} {
		if wave, ok := waves[in]; ok {
			o.Targets = append(o.Targets, rollout.TargetView{State: v1alpha1.TargetPending, Wave: wave,
				Object: v1alpha1.ObjectReference{Kind: "ConfigMap", Namespace: in, Name: "c"}})
		}
	}
	return o
}

// BarredIn are the namespaces whose target is kept back.
func (c *Circuit) BarredIn(rem *v1alpha1.Remediation, waves map[string]int32) []string {
	c.Helper()
	o := Observation(rem, waves)
	refusals, err := c.KeptBack(c.Ctx, rem)
	c.Must(err)
	o.Bar(refusals)
	var in []string
	for _, t := range o.Targets {
		if t.Barred != "" {
			in = append(in, t.Object.Namespace)
		}
	}
	return in
}

// Writes asks the breakers as right before a write in namespaces.
func (c *Circuit) Writes(rem *v1alpha1.Remediation, in ...string) rollout.Gate {
	c.Helper()
	namespaces := map[string]bool{}
	for _, namespace := range in {
		namespaces[namespace] = true
	}
	gate, err := c.Admit(c.Ctx, rem, namespaces)
	c.Must(err)
	return gate
}

// Half makes a breaker of the namespace shop that has just cooled down.
func Half() *v1alpha1.RemediationBreaker {
	opened, next := metav1.NewMicroTime(Noon.Add(-time.Hour)), metav1.NewMicroTime(Noon.Add(-time.Minute))
	return &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: "namespace-shop"},
		Spec: v1alpha1.RemediationBreakerSpec{Scope: breaker.NamespaceScope("shop")},
		Status: v1alpha1.RemediationBreakerStatus{State: v1alpha1.BreakerHalfOpen, Reason: v1alpha1.ReasonProbing,
			Message:    "Half-open.",
			OpenedTime: &opened, NextProbeTime: &next, Openings: 1}}
}

// Opened lets a canary fail, and the policy's breaker open.
func (c *Circuit) Opened(key string) {
	c.Helper()
	c.Must(c.Record(c.Ctx, c.Plan("a"), []rollout.Outcome{{Type: circuit.CanaryFailed, Key: key, Count: 1}}))
}

// Noon is the time at which the fakes' clocks begin.
var Noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Analyzer answers each query with what is set for it.
type Analyzer struct {
	mu      sync.Mutex
	Answers map[string]float64
	Asked   []string
}

// Sample answers with what was set, and errs for any other query.
func (f *Analyzer) Sample(_ context.Context, query string) (float64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Asked = append(f.Asked, query)
	value, found := f.Answers[query]
	if !found {
		return 0, errors.New("no data")
	}
	return value, nil
}
