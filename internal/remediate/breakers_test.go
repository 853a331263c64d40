package remediate

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientevents "k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
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
	c.breakers = &breakers{store: c.kept, cached: c.kept, hasNamespace: c.isThere, policies: c.catalog, findings: c.scan, analyzer: c.answers, clock: c.time,
		events: escalate.NewRecorder(recorder), metrics: newBreakerMetrics(c.registry)}
	c.control = &BreakerController{breakers: c.breakers}
	c.policy("missing", func(*v1alpha1.RolloutStrategy) {})
	c.catalog.MarkComplete()
	return c
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
	cb, err := c.kept.get(c.ctx, name)
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

func TestTheGateAsksForAnAnswerOfTheObjective(t *testing.T) {
	cases := map[string]struct {
		reason string
		answer float64
		none   bool // nobody can be asked
		shut   string
	}{
		"A budget that is hardly spent lets writes begin": {reason: "0.1 %.", answer: 0.001},
		"One that burns opens the breaker":                {reason: "139 %.", answer: 1, shut: v1alpha1.ReasonBreakerOpen},
		"No data lets none begin":                         {reason: "Unknown is never a pass.", answer: math.Inf(1), shut: v1alpha1.ReasonSLOUnknown},
		"No Prometheus lets none begin":                   {reason: "Nobody can be asked.", none: true, shut: v1alpha1.ReasonSLOUnknown},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newCircuit(t)
			c.policy("missing", func(s *v1alpha1.RolloutStrategy) {
				s.Breaker.SLO = &v1alpha1.SLOStrategy{Query: "burn", Objective: "99.9"}
			})
			if !math.IsInf(tc.answer, 1) {
				c.answers.answers["burn"] = tc.answer
			}
			if tc.none {
				c.analyzer = nil
			}
			gate := c.admitted(c.plan("a"))
			if gate.Reason != tc.shut || gate.Closed != (tc.shut != "") {
				t.Errorf("%s\nthe gate says %+v, want closed by %q", tc.reason, gate, tc.shut)
			}
			if open := c.read("policy-tags").Status.State == v1alpha1.BreakerOpen; open != (tc.shut == v1alpha1.ReasonBreakerOpen) {
				t.Errorf("%s\nthe breaker is %+v", tc.reason, c.read("policy-tags").Status)
			}
			for range 3 {
				c.after(9 * time.Second)
				c.admitted(c.plan("a"))
			}
			if n := len(c.answers.asked); n != 1 && !tc.none {
				t.Errorf("asked %d times within 27 s, want once", n)
			}
		})
	}
}

func TestABreakerThatCannotBeReadIsOpen(t *testing.T) {
	c := newCircuit(t)
	c.kept.unreadable = true
	if gate := c.admitted(c.plan("a")); !gate.Closed || !strings.Contains(gate.Message, "etcd is down") {
		t.Errorf("the gate says %+v, want closed with the reason", gate)
	}
	wrong := &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: "policy-tags"},
		Spec: v1alpha1.RemediationBreakerSpec{Scope: policyScope("another")}}
	if gate := newCircuit(t, wrong).admitted(c.plan("a")); !gate.Closed || !strings.Contains(gate.Message, "not what its name says") {
		t.Errorf("the gate says %+v, want closed for a breaker of something else", gate)
	}
}

func TestABreakerThatIsReadWithoutItsSpecIsAnError(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mark := map[string]string{v1alpha1.AnnotationMalformed: "mode: bad"}
	store := breakersIn{fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: "global", Annotations: mark}},
		&v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: "policy-tags"}},
	).Build()}
	if _, err := store.get(t.Context(), "global"); err == nil || !strings.Contains(err.Error(), "mode: bad") {
		t.Errorf("it is read with the error %v", err)
	}
	if _, err := store.get(t.Context(), "policy-tags"); err != nil {
		t.Errorf("a sound one is read with the error %v", err)
	}
}

func TestAStormIsKnownBeforeAnybodyPlans(t *testing.T) {
	c := newCircuit(t)
	pol := c.catalog.Snapshot().Definition("tags")
	for _, objects := range []int{10_000, 10_099} {
		c.scan.objects = objects
		mode, err := c.mode(c.ctx, pol, v1alpha1.RemediationAutomatic)
		if st := c.read("policy-tags").Status; err != nil || mode != v1alpha1.RemediationAutomatic || st.State != v1alpha1.BreakerClosed {
			t.Fatalf("%d violations: mode %s, breaker %s (%s), error %v", objects, mode, st.State, st.Message, err)
		}
		c.after(time.Minute)
	}
	c.scan.objects, c.scan.complete = 20_000, false
	if c.admitted(c.plan("a")).Closed {
		t.Fatal("a scan that isn't complete opens the breaker")
	}
	c.scan.objects, c.scan.complete = 10_100, true
	if _, err := c.mode(c.ctx, pol, v1alpha1.RemediationAutomatic); err != nil {
		t.Fatal(err)
	}
	if st := c.read("policy-tags").Status; st.Reason != canary.ReasonStorm {
		t.Errorf("100 new violations: the breaker is %s (%s)", st.State, st.Reason)
	}
	if gate := c.admitted(c.plan("a")); !gate.Closed {
		t.Errorf("a plan is let through in a storm: %+v", gate)
	}
}
