package scan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
)

// ExceptionCatalog is what the status of exceptions needs of catalog.Catalog.
type ExceptionCatalog interface {
	// ExceptionProblem says why an exception waives nothing; known is false for one
	// that the catalog doesn't have yet in this generation.
	ExceptionProblem(e *v1alpha1.PolicyException) (known bool, problem error)
}

// ExceptionController writes the conditions of each PolicyException and announces
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
	if err := r.write(ctx, &e, exceptionConditions(&e, problem, missing, now), now); err != nil {
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

// write sets the conditions, if they have changed, and announces an expiry when it
// comes to be known. A stale read is refused as a conflict, so that nothing is
// announced twice.
func (r *ExceptionController) write(ctx context.Context, e *v1alpha1.PolicyException, hold []metav1.Condition, now time.Time) error {
	base := e.DeepCopy()
	kube.SetConditions(e, now, hold...)
	if equality.Semantic.DeepEqual(base.Status, e.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, e, patch, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("write the status of policy exception %s/%s: %w", e.Namespace, e.Name, err)
	}
	if expired(e) && !expired(base) {
		n := exceptionExpired(e)
		r.recorder.Eventf(n.regarding, n.related, n.eventType, n.reason, action, "%s", clip(n.note, maxNote))
	}
	return nil
}

// expired says whether the exception's end is known.
func expired(e *v1alpha1.PolicyException) bool {
	return slices.ContainsFunc(e.Status.Conditions, func(c metav1.Condition) bool { return c.Reason == v1alpha1.ReasonExpired })
}

// exceptionConditions are Ready, True while the exception can be honoured, and Active, True
// while it waives anything. One that has expired is what its author has declared: it is
// ready, and not active.
func exceptionConditions(e *v1alpha1.PolicyException, problem error, missing []string, now time.Time) []metav1.Condition {
	until := e.Spec.ExpiresAt.UTC().Format(time.RFC3339)
	waiving := kube.ConditionTrue(v1alpha1.ConditionActive, v1alpha1.ReasonWaiving, "violations are waived until "+until)
	not := func(reason, message string) metav1.Condition {
		return kube.ConditionFalse(v1alpha1.ConditionActive, reason, message)
	}
	switch {
	case problem != nil:
		message := "it waives nothing: " + problem.Error()
		return append(kube.Stalled(v1alpha1.ReasonInvalid, message), not(v1alpha1.ReasonInvalid, message))
	case !now.Before(e.Spec.ExpiresAt.Time):
		message := "it expired at " + until + "; the violations count again: mend the objects, set a later spec.expiresAt, or delete it"
		return append(kube.Ready(v1alpha1.ReasonAccepted, "it is in order; it expired at "+until), not(v1alpha1.ReasonExpired, message))
	case len(missing) == 0:
		return append(kube.Ready(v1alpha1.ReasonAccepted, "it is in order; it waives violations until "+until), waiving)
	}
	message := "no such policy: " + strings.Join(missing, ", ") + "; check spec.policies"
	if len(missing) < len(e.Spec.Policies) {
		waiving.Message = "violations of the policies that exist are waived until " + until
		return append(kube.Underway(v1alpha1.ReasonPolicyNotFound, message), waiving)
	}
	return append(kube.Underway(v1alpha1.ReasonPolicyNotFound, message), not(v1alpha1.ReasonPolicyNotFound, message))
}
