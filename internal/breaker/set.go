// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/events"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

// Policies is the part of the catalog that breakers need.
type Policies interface {
	// Snapshot is the policies in force.
	Snapshot() *catalog.Snapshot
	// Complete says whether every policy of the cluster has been read.
	Complete() bool
}

// Findings is the part of the scan's index that breakers need.
type Findings interface {
	// Findings returns the objects that violate a policy, the revision that
	// judged them, and whether every kind was looked at.
	Findings(policyName string) (findings []policy.Finding, revision string, complete bool)
	// Violating returns how many objects violate a policy, waived ones included,
	// the revision that judged them, and whether every kind was looked at.
	Violating(policyName string) (objects int, revision string, complete bool)
	// ViolatingIn counts those by namespace, the most first.
	ViolatingIn(policyName string) []v1alpha1.ViolatingNamespace
}

// Analyzer answers the queries of service level objectives.
type Analyzer interface {
	// Sample is the query's value now. It errs unless the answer is exactly one
	// finite number.
	Sample(ctx context.Context, query string) (float64, error)
}

// Options are what the circuit breakers need.
type Options struct {
	// Reader reads the API server without a cache. Client writes, and reads what may be a little old.
	Reader client.Reader
	Client client.Client
	// Policies is the catalog, and Findings the scan's index.
	Policies Policies
	Findings Findings
	// Analyzer answers the queries of service level objectives; nil when no
	// Prometheus is known.
	Analyzer Analyzer
	// SLO is the objective that the global breaker watches; nil for none.
	SLO *v1alpha1.SLOStrategy
	// SLOInterval is how long an answer about an objective holds. Default: circuit.DefaultSLOInterval.
	SLOInterval time.Duration
	// StormInterval is how often a policy's violations are counted. Default: DefaultStormInterval.
	StormInterval time.Duration
	// Clock is the time, and Events tells people.
	Clock  clock.PassiveClock
	Events *events.Recorder
	// Metrics is where the figures are registered.
	Metrics prometheus.Registerer
}

// Set asks and feeds the circuit breakers. What they know is in their status
// alone; each write of it fails when somebody else has written it since.
type Set struct {
	o       Options
	metrics *metrics
}

// New makes what asks and feeds the breakers.
func New(o Options) *Set {
	o.SLOInterval = cmp.Or(o.SLOInterval, circuit.DefaultSLOInterval)
	o.StormInterval = cmp.Or(o.StormInterval, DefaultStormInterval)
	return &Set{o: o, metrics: newMetrics(o.Metrics)}
}

// update reads a breaker anew, lets change work on it, and persists what changed.
func (b *Set) update(ctx context.Context, scope v1alpha1.BreakerScope, rem *v1alpha1.Remediation,
	change func(*v1alpha1.RemediationBreaker)) error {
	cb, err := b.Ensure(ctx, scope)
	if err != nil {
		return err
	}
	before := cb.DeepCopy()
	change(cb)
	return b.write(ctx, before, cb, rem)
}

// write persists a breaker's status when it has changed, and tells what people
// want to know of the change. rem is the plan that caused it, if any.
func (b *Set) write(ctx context.Context, before, cb *v1alpha1.RemediationBreaker, rem *v1alpha1.Remediation) error {
	if scope := cb.Spec.Scope; scope.Type == v1alpha1.BreakerScopePolicy {
		// Whatever opened it may have been once too often.
		cb.Status = circuit.Demotion(cb.Status, b.Revision(scope.Policy), b.o.Clock.Now())
	}
	now := b.o.Clock.Now()
	cb.Status = circuit.Held(circuit.Named(cb.Status, cb.Name), &cb.Spec, now)
	kube.SetConditions(seenBreaker{cb, now}, now, breakerConditions(cb, now)...)
	if err := kube.NewStatusWriter(b.o.Client, before).Write(ctx, cb, v1alpha1.FieldManager); err != nil {
		return err
	}
	b.metrics.transition(before, cb)
	b.report(before, cb, rem)
	return nil
}

// report records an event for each thing that a write of a breaker's status says
// has happened.
func (b *Set) report(before, cb *v1alpha1.RemediationBreaker, rem *v1alpha1.Remediation) {
	was, is := before.Status, cb.Status
	if is.Mode != was.Mode && (is.Mode == v1alpha1.BreakerForcedOpen) != (was.Mode == v1alpha1.BreakerForcedOpen) {
		reason, note := killSwitch(cb)
		b.o.Events.Breaker(cb, rem, reason, note)
	}
	reset := is.LastHandledResetToken != was.LastHandledResetToken
	if reset {
		b.o.Events.Breaker(cb, rem, v1alpha1.EventBreakerReset,
			fmt.Sprintf("reset by %s: %s", is.LastReset.By, is.LastReset.Reason))
	}
	switch {
	case is.State == v1alpha1.BreakerOpen && (was.State != is.State || !is.OpenedTime.Equal(was.OpenedTime)):
		b.o.Events.Breaker(cb, rem, v1alpha1.EventBreakerOpened, is.Message)
	case is.State == v1alpha1.BreakerClosed && was.State != is.State && was.State != "" && !reset:
		b.o.Events.Breaker(cb, rem, v1alpha1.EventBreakerClosed, is.Message)
	}
	b.reportDemotion(was.Demoted, is.Demoted, cb)
}

// killSwitch is the event of a breaker that a person has begun or ceased to hold open.
func killSwitch(cb *v1alpha1.RemediationBreaker) (reason, note string) {
	if cb.Status.Mode == v1alpha1.BreakerForcedOpen {
		return v1alpha1.EventKillSwitchOn,
			fmt.Sprintf("a person holds the breaker open%s (%s): no new write begins in its scope; rollbacks go on",
				v1alpha1.UntilText(cb.Spec.ForcedOpenUntilTime), cb.ForcedBy())
	}
	if cb.Spec.AsksOpen() {
		return v1alpha1.EventKillSwitchOff,
			fmt.Sprintf("nobody holds the breaker open any more: a person held it open%s (%s); it is %s",
				v1alpha1.UntilText(cb.Spec.ForcedOpenUntilTime), cb.ForcedBy(), cb.Status.State)
	}
	by := v1alpha1.LatestRequest(v1alpha1.Requests(cb), v1alpha1.ActionRelease, v1alpha1.ActionForceOpen)
	return v1alpha1.EventKillSwitchOff,
		fmt.Sprintf("nobody holds the breaker open any more (%s); it is %s", by, cb.Status.State)
}

func (b *Set) reportDemotion(was, is *v1alpha1.BreakerDemotion, cb *v1alpha1.RemediationBreaker) {
	policy := b.o.Policies.Snapshot().Definition(cb.Spec.Scope.Policy)
	switch {
	case policy == nil || (was == nil) == (is == nil):
	case is != nil:
		b.o.Events.Policy(policy, v1alpha1.EventPolicyDemoted, is.Message)
	default:
		b.o.Events.Policy(policy, v1alpha1.EventDemotionEnded,
			"the policy's mode is in force again: its rule has changed, or a person has reset breaker "+cb.Name)
	}
}

// Ensure reads a breaker anew, and makes it when there is none.
func (b *Set) Ensure(ctx context.Context, scope v1alpha1.BreakerScope) (*v1alpha1.RemediationBreaker, error) {
	name := breakerName(scope)
	cb, err := read(ctx, b.o.Reader, name)
	if err == nil && cb.Spec.Scope != scope {
		return nil, fmt.Errorf("circuit breaker %s covers %+v, not what its name says: delete it", name, cb.Spec.Scope)
	}
	if !apierrors.IsNotFound(err) {
		return cb, err
	}
	cb = &v1alpha1.RemediationBreaker{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RemediationBreakerSpec{Scope: scope}}
	if scope.Policy != "" {
		cb.Labels = map[string]string{v1alpha1.LabelPolicy: scope.Policy}
	}
	err = b.o.Client.Create(ctx, cb, client.FieldOwner(v1alpha1.FieldManager))
	if apierrors.IsAlreadyExists(err) {
		return read(ctx, b.o.Reader, name) // somebody else made it meanwhile
	}
	if err != nil {
		return nil, fmt.Errorf("make circuit breaker %s: %w", name, err)
	}
	return cb, nil
}

// inNamespaces reads the namespaces' breakers anew, by namespace.
func (b *Set) inNamespaces(ctx context.Context) (map[string]*v1alpha1.RemediationBreaker, error) {
	list, err := readAll(ctx, b.o.Reader)
	if err != nil {
		return nil, err
	}
	byNamespace := map[string]*v1alpha1.RemediationBreaker{}
	for i := range list {
		if scope := list[i].Spec.Scope; scope.Type == v1alpha1.BreakerScopeNamespace {
			byNamespace[scope.Namespace] = &list[i]
		}
	}
	return byNamespace, nil
}

// GlobalScope is what the breaker over everything covers.
func GlobalScope() v1alpha1.BreakerScope {
	return v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopeGlobal}
}

// PolicyScope is what a policy's breaker covers.
func PolicyScope(policy string) v1alpha1.BreakerScope {
	return v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopePolicy, Policy: policy}
}

// NamespaceScope is what a namespace's breaker covers.
func NamespaceScope(namespace string) v1alpha1.BreakerScope {
	return v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopeNamespace, Namespace: namespace}
}

// scopes are the breakers that cover the whole of a policy's plans.
func scopes(policy string) []v1alpha1.BreakerScope {
	return []v1alpha1.BreakerScope{GlobalScope(), PolicyScope(policy)}
}

func breakerName(s v1alpha1.BreakerScope) string {
	switch s.Type {
	case v1alpha1.BreakerScopeGlobal:
		return v1alpha1.GlobalBreakerName
	case v1alpha1.BreakerScopePolicy:
		return v1alpha1.PolicyBreakerPrefix + s.Policy
	case v1alpha1.BreakerScopeNamespace:
		return v1alpha1.NamespaceBreakerPrefix + s.Namespace
	}
	return ""
}
