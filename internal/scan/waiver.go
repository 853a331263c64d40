// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"errors"
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
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/prose"
)

// WaiverCatalog is what the status of waivers needs of catalog.Catalog.
type WaiverCatalog interface {
	// WaiverProblem says why a waiver waives nothing; known is false for one
	// that the catalog doesn't have yet in this generation.
	WaiverProblem(w v1alpha1.AnyWaiver) (known bool, problem error)
}

// WaiverController writes the conditions of each waiver, of both kinds, and announces its
// end. It changes no verdict: those end with the expiry by themselves.
type WaiverController struct {
	client   client.Client
	catalog  WaiverCatalog
	recorder recorder
	clock    clock.PassiveClock
}

// Register joins the manager. A policy that comes or goes concerns the waivers
// that name it.
func (r *WaiverController) Register(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("waiver-status").
		For(&v1alpha1.Waiver{}).
		Watches(&v1alpha1.ClusterWaiver{}, &handler.EnqueueRequestForObject{}).
		Watches(&v1alpha1.ClusterRegoPolicy{}, handler.EnqueueRequestsFromMapFunc(r.naming)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the waiver status controller: %w", err)
	}
	return nil
}

func (r *WaiverController) naming(ctx context.Context, p client.Object) []ctrl.Request {
	waivers, err := catalog.ListWaivers(ctx, r.client)
	if err != nil {
		return nil
	}
	var requests []ctrl.Request
	for _, w := range waivers {
		if slices.Contains(w.Terms().Policies, p.GetName()) {
			requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w)})
		}
	}
	return requests
}

// Reconcile brings one waiver's status up to date, and comes again when the
// waiver expires.
func (r *WaiverController) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	w := v1alpha1.NewWaiver(request.Namespace)
	if err := r.client.Get(ctx, request.NamespacedName, w); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	known, problem := r.catalog.WaiverProblem(w)
	if !known {
		return ctrl.Result{RequeueAfter: catalogLag}, nil
	}
	missing, err := r.missing(ctx, w.Terms().Policies)
	if err != nil {
		return ctrl.Result{}, err
	}
	now := r.clock.Now()
	if err := r.write(ctx, w, waiverConditions(w.Terms(), problem, missing, now), now); err != nil {
		if apierrors.IsConflict(err) {
			return ctrl.Result{RequeueAfter: catalogLag}, nil
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if left := w.Terms().ExpirationTime.Sub(now); left > 0 {
		return ctrl.Result{RequeueAfter: min(left, expiryPoll)}, nil
	}
	return ctrl.Result{}, nil
}

func (r *WaiverController) missing(ctx context.Context, names []string) ([]string, error) {
	var missing []string
	for _, name := range names {
		err := r.client.Get(ctx, types.NamespacedName{Name: name}, &v1alpha1.ClusterRegoPolicy{})
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
func (r *WaiverController) write(
	ctx context.Context, w v1alpha1.AnyWaiver, hold []metav1.Condition, now time.Time,
) error {
	base := w.DeepCopyObject().(v1alpha1.AnyWaiver) //nolint:forcetypeassert // a copy is of the same kind
	kube.SetConditions(w, now, hold...)
	if equality.Semantic.DeepEqual(base, w) {
		return nil
	}
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, w, patch, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("write the status of waiver %s: %w", client.ObjectKeyFromObject(w), err)
	}
	if expired(w) && !expired(base) {
		n := waiverExpired(w)
		r.recorder.Eventf(n.regarding, n.related, n.eventType, n.reason, action, "%s", prose.Shorten(n.note, maxNote))
	}
	return nil
}

func expired(w v1alpha1.AnyWaiver) bool {
	_, conditions := w.Observed()
	return slices.ContainsFunc(*conditions, func(c metav1.Condition) bool {
		return c.Reason == v1alpha1.ReasonExpired
	})
}

// waiverConditions are Ready, True while the waiver can be honoured, and Active, True
// while it waives anything. One that has expired is what its author has declared: it is
// ready, and not active.
func waiverConditions(
	terms *v1alpha1.WaiverTerms, problem error, missing []string, now time.Time,
) []metav1.Condition {
	until := terms.ExpirationTime.UTC().Format(time.RFC3339)
	waiving := kube.ConditionTrue(v1alpha1.ConditionActive, v1alpha1.ReasonAccepted,
		"violations are waived until "+until)
	not := func(reason, message string) metav1.Condition {
		return kube.ConditionFalse(v1alpha1.ConditionActive, reason, message)
	}
	switch {
	case errors.Is(problem, catalog.ErrWaiverDeleted):
		message := "it waives nothing: " + problem.Error()
		return append(kube.Underway(v1alpha1.ReasonDeleting, message), not(v1alpha1.ReasonDeleting, message))
	case problem != nil:
		message := "it waives nothing: " + problem.Error()
		return append(kube.Stalled(v1alpha1.ReasonInvalid, message), not(v1alpha1.ReasonInvalid, message))
	case !now.Before(terms.ExpirationTime.Time):
		message := "it expired at " + until +
			"; the violations count again: fix the objects, set a later spec.expirationTime, or delete it"
		ready := kube.Ready(v1alpha1.ReasonAccepted, "it is in order; it expired at "+until)
		return append(ready, not(v1alpha1.ReasonExpired, message))
	case len(missing) == 0:
		return append(kube.Ready(v1alpha1.ReasonAccepted, "it is in order; it waives violations until "+until), waiving)
	}
	message := "no such policy: " + strings.Join(missing, ", ") + "; check spec.policies"
	if len(missing) < len(terms.Policies) {
		waiving.Message = "violations of the policies that exist are waived until " + until
		return append(kube.Underway(v1alpha1.ReasonPolicyNotFound, message), waiving)
	}
	return append(kube.Underway(v1alpha1.ReasonPolicyNotFound, message), not(v1alpha1.ReasonPolicyNotFound, message))
}
