// SPDX-License-Identifier: Apache-2.0

package override

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
)

const (
	// catalogLag is when to look again for what the catalog doesn't have yet, or at an
	// object that somebody else has just written.
	catalogLag = 200 * time.Millisecond
	// endPoll is the longest that an end is waited for in one go: the clock may be set.
	endPoll = time.Minute
	// endedPoll is how often one that has ended is looked at, for the same reason.
	endedPoll = 10 * time.Minute
)

// Catalog is what the status of overrides needs of catalog.Catalog.
type Catalog interface {
	// KnowsOverride says whether verdicts go by this generation of an override.
	KnowsOverride(o *v1alpha1.PolicyOverride) bool
}

// recorder records an event; events.EventRecorder of client-go is one.
type recorder interface {
	Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any)
}

// asDeclared is what an end comes to.
const asDeclared = "the policy is enforced as it declares"

// Controller writes the status of each PolicyOverride, and announces its begin and its end.
// It decides nothing by it: an override ends by itself.
type Controller struct {
	o Options
	// active are the overrides in force, so that the end of one that is deleted is announced. Reconcile runs one at a
	// time.
	active map[string]bool
}

// Options are what the status of overrides needs.
type Options struct {
	// Client reads overrides and their policies, and writes the status.
	Client client.Client
	// Catalog says which overrides verdicts go by.
	Catalog Catalog
	// Recorder takes the events of a begin and an end.
	Recorder recorder
	// Clock is the time.
	Clock clock.PassiveClock
}

// NewController makes the controller of overrides' status.
func NewController(o Options) *Controller { return &Controller{o: o, active: map[string]bool{}} }

// Register joins the manager. A policy that comes or goes concerns the override of its name.
func (c *Controller) Register(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("override-status").
		For(&v1alpha1.PolicyOverride{}).
		Watches(&v1alpha1.ClusterRegoPolicy{}, &handler.EnqueueRequestForObject{},
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(c)
	if err != nil {
		return fmt.Errorf("set up the override status controller: %w", err)
	}
	return nil
}

// Reconcile brings one override's status up to date, and comes again when it ends.
func (c *Controller) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	o, p := &v1alpha1.PolicyOverride{}, &v1alpha1.ClusterRegoPolicy{}
	if err := c.o.Client.Get(ctx, request.NamespacedName, p); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("read policy %s: %w", request.Name, err)
	}
	if err := c.o.Client.Get(ctx, request.NamespacedName, o); err != nil {
		if apierrors.IsNotFound(err) {
			c.gone(request.Name, p)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !c.o.Catalog.KnowsOverride(o) {
		return ctrl.Result{RequeueAfter: catalogLag}, nil
	}
	p.SetDefaults()
	now := c.o.Clock.Now()
	in := InForce(o, Policy{UID: p.UID, Declared: p.Spec.Admission.Action}, now)
	if err := c.write(ctx, o, p, in, now); err != nil {
		if apierrors.IsConflict(err) {
			return ctrl.Result{RequeueAfter: catalogLag}, nil
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	c.active[o.Name] = in != nil
	if in == nil && why(o, p.UID, now) != v1alpha1.ReasonExpired {
		return ctrl.Result{}, nil
	}
	if in == nil {
		return ctrl.Result{RequeueAfter: endedPoll}, nil // a clock that is set back brings it back, which is told
	}
	return ctrl.Result{RequeueAfter: min(in.Until.Sub(now), endPoll)}, nil
}

// gone announces the end of an override that was in force, and was deleted.
func (c *Controller) gone(name string, p *v1alpha1.ClusterRegoPolicy) {
	if c.active[name] && p.UID != "" {
		c.o.Recorder.Eventf(policyReference(p), nil, corev1.EventTypeNormal, v1alpha1.EventOverrideEnded, action, "%s",
			"its PolicyOverride was deleted; "+asDeclared)
	}
	delete(c.active, name)
}

// write sets the conditions, if they have changed, and announces what has become of the
// policy. A stale read is refused as a conflict, so that nothing is announced twice.
func (c *Controller) write(ctx context.Context, o *v1alpha1.PolicyOverride, p *v1alpha1.ClusterRegoPolicy,
	in *Override, now time.Time) error {
	base := o.DeepCopy()
	kube.SetConditions(o, now, conditions(o, why(o, p.UID, now), in)...)
	if equality.Semantic.DeepEqual(base.Status, o.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := c.o.Client.Status().Patch(ctx, o, patch, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("write the status of PolicyOverride %s: %w", o.Name, err)
	}
	if note := announcement(base, o, in); note.reason != "" && p.UID != "" {
		c.o.Recorder.Eventf(policyReference(p), nil, note.eventType, note.reason, action, "%s", note.text)
	}
	return nil
}

// conditions are Ready, True while the override can be honoured, and Active, True while it
// is in force. One that has ended is what people have asked for: it is ready, and not active.
func conditions(o *v1alpha1.PolicyOverride, why string, in *Override) []metav1.Condition {
	not := func(message string) metav1.Condition {
		return kube.ConditionFalse(v1alpha1.ConditionActive, why, message)
	}
	switch why {
	case v1alpha1.ReasonAccepted:
		return append(kube.Ready(v1alpha1.ReasonAccepted, "it is in order"),
			kube.ConditionTrue(v1alpha1.ConditionActive, why, in.String()))
	case v1alpha1.ReasonDeleting:
		return append(kube.Ready(v1alpha1.ReasonAccepted, "it is in order; it is being deleted"),
			not("it is being deleted; "+asDeclared))
	case v1alpha1.ReasonExpired:
		message := fmt.Sprintf("it ended at %s; %s", ends(o, o.Asked()).UTC().Format(time.RFC3339), asDeclared)
		return append(kube.Ready(v1alpha1.ReasonAccepted, "it is in order; it has ended"), not(message))
	case v1alpha1.ReasonPolicyNotFound:
		message := fmt.Sprintf("there is no policy %s with the uid %s: nothing is overridden; delete it", o.Name,
			o.Spec.PolicyUID)
		return append(kube.Stalled(why, message), not(message))
	case v1alpha1.ReasonRequesterUnknown:
		const message = "admission hasn't recorded who asks for it, so nothing is overridden: use evenkeel policy " +
			"override"
		return append(kube.Stalled(why, message), not(message))
	}
	message := "it can't be read, so nothing is overridden: " + v1alpha1.Malformed(o)
	return append(kube.Stalled(why, message), not(message))
}
