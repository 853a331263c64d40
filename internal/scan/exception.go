package scan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// ExceptionCatalog is what the status of exceptions needs of catalog.Catalog.
type ExceptionCatalog interface {
	// ExceptionProblem says why an exception waives nothing; known is false for one
	// that the catalog doesn't have yet in this generation.
	ExceptionProblem(e *v1alpha1.PolicyException) (known bool, problem error)
}

// ExceptionController writes the condition of each PolicyException and announces
// its end. It changes no verdict: those end with the expiry by themselves.
type ExceptionController struct {
	client   client.Client
	catalog  ExceptionCatalog
	recorder recorder
	clock    clock.PassiveClock
}

// Register joins the manager. A policy that comes or goes concerns the exceptions
// that name it.
func (r *ExceptionController) Register(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("exception-status").
		For(&v1alpha1.PolicyException{}).
		Watches(&v1alpha1.Policy{}, handler.EnqueueRequestsFromMapFunc(r.naming)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the exception status controller: %w", err)
	}
	return nil
}

// naming are the exceptions that name a policy.
func (r *ExceptionController) naming(ctx context.Context, p client.Object) []ctrl.Request {
	var list v1alpha1.PolicyExceptionList
	if err := r.client.List(ctx, &list); err != nil {
		return nil
	}
	var requests []ctrl.Request
	for i := range list.Items {
		if slices.Contains(list.Items[i].Spec.Policies, p.GetName()) {
			requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

// Reconcile brings one exception's status up to date, and comes again when the
// exception expires.
func (r *ExceptionController) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var e v1alpha1.PolicyException
	if err := r.client.Get(ctx, request.NamespacedName, &e); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	known, problem := r.catalog.ExceptionProblem(&e)
	if !known {
		return ctrl.Result{RequeueAfter: catalogLag}, nil
	}
	missing, err := r.missing(ctx, e.Spec.Policies)
	if err != nil {
		return ctrl.Result{}, err
	}
	now := r.clock.Now()
	if err := r.write(ctx, &e, exceptionCondition(&e, problem, missing, now)); err != nil {
		if apierrors.IsConflict(err) {
			return ctrl.Result{RequeueAfter: catalogLag}, nil
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if left := e.Spec.ExpiresAt.Sub(now); left > 0 {
		return ctrl.Result{RequeueAfter: min(left, expiryPoll)}, nil
	}
	return ctrl.Result{}, nil
}

// missing are the policies, of those named, that don't exist.
func (r *ExceptionController) missing(ctx context.Context, names []string) ([]string, error) {
	var missing []string
	for _, name := range names {
		err := r.client.Get(ctx, types.NamespacedName{Name: name}, &v1alpha1.Policy{})
		switch {
		case apierrors.IsNotFound(err):
			missing = append(missing, name)
		case err != nil:
			return nil, fmt.Errorf("read policy %s: %w", name, err)
		}
	}
	return missing, nil
}

// write sets the condition, if it has changed, and announces an expiry when it
// comes to be known. A stale read is refused as a conflict, so that nothing is
// announced twice.
func (r *ExceptionController) write(ctx context.Context, e *v1alpha1.PolicyException, c metav1.Condition) error {
	base := e.DeepCopy()
	before := meta.FindStatusCondition(base.Status.Conditions, c.Type)
	meta.SetStatusCondition(&e.Status.Conditions, c)
	e.Status.ObservedGeneration = e.Generation
	if equality.Semantic.DeepEqual(base.Status, e.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, e, patch, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("write the status of policy exception %s/%s: %w", e.Namespace, e.Name, err)
	}
	if c.Reason == v1alpha1.ReasonExpired && (before == nil || before.Reason != c.Reason) {
		n := exceptionExpired(e)
		r.recorder.Eventf(n.regarding, n.related, n.eventType, n.reason, action, "%s", clip(n.note, maxNote))
	}
	return nil
}

// exceptionCondition is Ready: True while the exception waives what it names.
func exceptionCondition(e *v1alpha1.PolicyException, problem error, missing []string, now time.Time) metav1.Condition {
	c := condition(v1alpha1.ConditionReady, metav1.ConditionFalse, "", "")
	until := e.Spec.ExpiresAt.UTC().Format(time.RFC3339)
	switch {
	case !now.Before(e.Spec.ExpiresAt.Time):
		c.Reason = v1alpha1.ReasonExpired
		c.Message = "it expired at " + until + "; the violations count again: mend the objects, set a later spec.expiresAt, or delete it"
	case problem != nil:
		c.Reason, c.Message = v1alpha1.ReasonInvalid, "it waives nothing: "+problem.Error()
	case len(missing) > 0:
		c.Reason = v1alpha1.ReasonPolicyNotFound
		c.Message = "no such policy: " + strings.Join(missing, ", ") + "; check spec.policies"
		if len(missing) < len(e.Spec.Policies) {
			c.Message += "; violations of the others are waived until " + until
		}
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, v1alpha1.ReasonActive, "violations are waived until "+until
	}
	c.Message = clip(c.Message, maxConditionMessage)
	c.ObservedGeneration = e.Generation
	c.LastTransitionTime = metav1.NewTime(now).Rfc3339Copy()
	return c
}
