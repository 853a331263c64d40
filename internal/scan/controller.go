// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/strategy"
	"evenkeel.dev/evenkeel/internal/scan/index"
)

// catalogLag is when to look again for a definition that the catalog doesn't
// have yet.
const catalogLag = 200 * time.Millisecond

// DefaultStatusInterval is the least time between two writes of one policy's figures. Each write is stored, and sent to
// every watcher, together with the policy's rules.
const DefaultStatusInterval = 10 * time.Second

// stateInterval is the least time between two writes of one policy's state.
const stateInterval = time.Second

// StatusController writes what the catalog and the Index know of a policy into
// its status, its figures at most once in an interval, and announces what changed as events.
type StatusController struct {
	client  client.Client
	catalog Catalog
	index   *index.Index
	// changes names the policies whose findings changed.
	changes   <-chan event.GenericEvent
	announcer *announcer
	clock     clock.PassiveClock
	interval  time.Duration

	mu      sync.Mutex
	written map[string]time.Time
}

// Register joins the manager. A change of the status alone counts too: a patch
// made from a stale read leaves fields that are wrong, which show when the cache
// catches up.
func (r *StatusController) Register(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("policy-status").
		For(&v1alpha1.ClusterRegoPolicy{}).
		Watches(&v1alpha1.RegoTemplate{}, handler.EnqueueRequestsFromMapFunc(r.naming),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.RemediationStrategy{},
												handler.EnqueueRequestsFromMapFunc(strategy.Followers(mgr.GetClient())),
												builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.PolicyOverride{}, &handler.EnqueueRequestForObject{}). // it has its policy's name
		WatchesRawSource(source.Channel(r.changes, &handler.EnqueueRequestForObject{})).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the policy status controller: %w", err)
	}
	return nil
}

// Reconcile brings one policy's status up to date.
func (r *StatusController) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var p v1alpha1.ClusterRegoPolicy
	if err := r.client.Get(ctx, request.NamespacedName, &p); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(request.Name)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read policy %s: %w", request.Name, err)
	}
	c, known, err := r.inCatalog(ctx, &p)
	if err != nil || !known {
		return ctrl.Result{RequeueAfter: catalogLag}, err
	}
	summary := r.summary(p.Name)
	base := p.DeepCopy()
	applyStatus(&p, c, summary, metav1.NewTime(r.clock.Now()).Rfc3339Copy())
	var next time.Duration
	if !equality.Semantic.DeepEqual(base.Status, p.Status) {
		if next = r.tooSoon(base, &p); next <= 0 {
			if err := r.patch(ctx, &p, base); err != nil {
				return ctrl.Result{}, err
			}
		}
	}
	if summary != nil {
		next = sooner(next, r.announcer.review(base, *summary))
	}
	if c.Override != nil { // it ends by itself
		next = sooner(next, max(c.Override.Until.Sub(r.clock.Now()), catalogLag))
	}
	return ctrl.Result{RequeueAfter: next}, nil
}

// inCatalog says how a policy stands in the catalog; known is false while that doesn't have
// the policy, or its template, as it is now.
func (r *StatusController) inCatalog(ctx context.Context, p *v1alpha1.ClusterRegoPolicy) (
	status catalog.Status, known bool, err error) {
	behind, err := templateBehind(ctx, r.client, r.catalog, p.Spec.TemplateRef)
	if err != nil || behind {
		return catalog.Status{}, false, err
	}
	if behind, err := r.overrideBehind(ctx, p.Name); err != nil || behind {
		return catalog.Status{}, false, err
	}
	status, known = r.catalog.Status(p.Name)
	if !known || status.Err != nil {
		return status, known, nil
	}
	if status.Ahead != nil {
		return status, status.Ahead.Generation >= p.Generation, nil
	}
	named, err := strategy.Read(ctx, r.client, strategy.Named(p))
	_, problem := strategy.Resolve(p.DeepCopy(), named)
	heard := reasonOf(status.Unresolved) == reasonOf(problem)
	return status, heard && status.Generation >= p.Generation, err
}

// overrideBehind says whether the catalog doesn't go by a policy's override as it is now.
func (r *StatusController) overrideBehind(ctx context.Context, name string) (bool, error) {
	o := &v1alpha1.PolicyOverride{}
	err := r.client.Get(ctx, client.ObjectKey{Name: name}, o)
	if apierrors.IsNotFound(err) {
		return r.catalog.HoldsOverride(name), nil
	}
	if err != nil {
		return false, fmt.Errorf("read PolicyOverride %s: %w", name, err)
	}
	return !r.catalog.KnowsOverride(o), nil
}

func (r *StatusController) naming(_ context.Context, t client.Object) []ctrl.Request {
	var requests []ctrl.Request
	for _, p := range r.catalog.Snapshot().Naming(t.GetName()) {
		requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(p)})
	}
	return requests
}

func reasonOf(problem *strategy.Problem) string {
	if problem == nil {
		return ""
	}
	return problem.Reason
}

// sooner is the shorter of two waits; 0 or less means no wait.
func sooner(wait, other time.Duration) time.Duration {
	switch {
	case wait <= 0:
		return other
	case other <= 0:
		return wait
	default:
		return min(wait, other)
	}
}

func (r *StatusController) summary(name string) *index.Summary {
	s, ok := r.index.Summary(name, sampleSize)
	if !ok {
		return nil
	}
	return &s
}

// patch writes only what changed, without a precondition: nobody else writes
// these fields.
func (r *StatusController) patch(ctx context.Context, p, base *v1alpha1.ClusterRegoPolicy) error {
	r.mu.Lock()
	r.written[p.Name] = r.clock.Now()
	r.mu.Unlock()
	err := r.client.Status().Patch(ctx, p, client.MergeFrom(base), client.FieldOwner(v1alpha1.FieldManager))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the status of policy %s: %w", p.Name, err)
	}
	return nil
}

// tooSoon is how long to wait until the policy's status may be written again.
func (r *StatusController) tooSoon(before, now *v1alpha1.ClusterRegoPolicy) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, ok := r.written[now.Name]
	if !ok {
		return 0
	}
	interval := r.interval
	if !equality.Semantic.DeepEqual(state(&before.Status), state(&now.Status)) {
		interval = min(interval, stateInterval)
	}
	return interval - r.clock.Since(last)
}

// state is a status without its figures: messages of conditions hold some. Whether anything violates is state, since
// alerts end by it and commands wait for it.
func state(s *v1alpha1.RegoPolicyStatus) *v1alpha1.RegoPolicyStatus {
	out := s.DeepCopy()
	for i := range out.Conditions {
		out.Conditions[i].Message = ""
	}
	if s.Scan != nil {
		out.Scan = &v1alpha1.ScanStatus{State: s.Scan.State, Violating: min(s.Scan.Violating, 1)}
	}
	return out
}

func (r *StatusController) forget(name string) {
	r.announcer.forget(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.written, name)
}
