// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/events"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/preview"
	"evenkeel.dev/evenkeel/internal/remediate/record"
)

// Controller tells people what becomes of their answers to plans, and makes answers
// belong to their plans, so that they go with the history. It decides nothing:
// what a plan acts by is in the plan's own status.
type Controller struct {
	client  client.Client
	reader  client.Reader
	clock   clock.PassiveClock
	events  *events.Recorder
	metrics *metrics
	// approvers is what the cluster's administrator asks of whoever answers.
	approvers canary.Approvers
}

// Options are what the reader and the controller of answers need; the reader neither Events nor Metrics.
type Options struct {
	// Reader reads past every cache.
	Reader client.Reader
	// Clock is the time, and Events tells people.
	Clock  clock.PassiveClock
	Events *events.Recorder
	// Metrics is where the figures are registered.
	Metrics prometheus.Registerer
	// Approvers is what the cluster's administrator asks of whoever answers.
	Approvers canary.Approvers
}

// NewController makes the controller of people's answers to plans.
func NewController(o Options) *Controller {
	return &Controller{reader: o.Reader, clock: o.Clock, events: o.Events, metrics: newMetrics(o.Metrics),
		approvers: o.Approvers}
}

// Register adds the controller to the manager. It runs on the leader only.
func (s *Controller) Register(mgr ctrl.Manager) error {
	s.client = mgr.GetClient()
	return ctrl.NewControllerManagedBy(mgr).Named("approval").
		For(&v1alpha1.RemediationApproval{}).
		Watches(&v1alpha1.Remediation{}, handler.EnqueueRequestsFromMapFunc(s.answersOf)).
		Complete(s)
}

// Reconcile looks what has become of one answer.
func (s *Controller) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	a := &v1alpha1.RemediationApproval{}
	if err := s.reader.Get(ctx, request.NamespacedName, a); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if a.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	err := s.tell(ctx, a)
	if kube.Classify(err) == kube.Conflict {
		return ctrl.Result{RequeueAfter: kube.ConflictBackoff}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

func (s *Controller) tell(ctx context.Context, a *v1alpha1.RemediationApproval) error {
	plan := &v1alpha1.Remediation{}
	err := s.reader.Get(ctx, client.ObjectKey{Name: a.Spec.RemediationRef.Name}, plan)
	if apierrors.IsNotFound(err) {
		refused, _ := fate(a, nil, canary.Asked{}, s.approvers)
		return s.write(ctx, a, nil, refused)
	}
	if err != nil {
		return fmt.Errorf("read the plan of answer %s: %w", a.Name, err)
	}
	if err := s.adopt(ctx, a, plan); err != nil {
		return err
	}
	of, err := catalog.Asked(ctx, s.reader, plan)
	if err != nil {
		return err
	}
	refused, known := fate(a, plan, of, s.approvers)
	if !known {
		if refused, err = s.mismatch(ctx, a, plan); err != nil || refused == (canary.Refusal{}) {
			return err // the plan takes it, and its change brings us back
		}
	}
	return s.write(ctx, a, plan, refused)
}

// mismatch refuses a yes to other changes than the plan's, as far as they are known.
func (s *Controller) mismatch(ctx context.Context, a *v1alpha1.RemediationApproval, plan *v1alpha1.Remediation) (
	canary.Refusal, error) {
	if a.Spec.ProposalDigest == "" || a.Spec.Decision == v1alpha1.DecisionReject {
		return canary.Refusal{}, nil
	}
	records, err := record.Read(ctx, s.reader, plan)
	switch {
	case record.Unreadable(err):
		return canary.Refusal{}, nil // the plan says so itself
	case err != nil:
		return canary.Refusal{}, fmt.Errorf("read what answer %s is to: %w", a.Name, err)
	}
	return refuseProposal(a, preview.ProposalOf(plan, records.Slices)), nil
}

// fate is what has become of an answer to a plan, or to none that is there: it was taken, or is refused, or
// that isn't known yet.
func fate(a *v1alpha1.RemediationApproval, plan *v1alpha1.Remediation, of canary.Asked, by canary.Approvers) (
	refused canary.Refusal, known bool) {
	if plan != nil && canary.InEffect(a, plan) {
		return canary.Refusal{}, true
	}
	refused = canary.Refuse(a, plan, of, by)
	return refused, refused != (canary.Refusal{})
}

// adoptable says whether an answer is to this plan and has no owner yet.
func adoptable(a *v1alpha1.RemediationApproval, plan *v1alpha1.Remediation) bool {
	owned := slices.ContainsFunc(a.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Kind == "Remediation"
	})
	return !owned && a.Spec.RemediationRef.UID == string(plan.UID)
}

// adopt makes the plan the owner of an answer to it.
func (s *Controller) adopt(ctx context.Context, a *v1alpha1.RemediationApproval, plan *v1alpha1.Remediation) error {
	if !adoptable(a, plan) {
		return nil
	}
	before := a.DeepCopy()
	if err := controllerutil.SetOwnerReference(plan, a, s.client.Scheme()); err != nil {
		return fmt.Errorf("answer %s: %w", a.Name, err)
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := s.client.Patch(ctx, a, patch, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("adopt answer %s: %w", a.Name, err)
	}
	return nil
}

// write says whether the answer was taken, and announces it when it comes to be
// known.
func (s *Controller) write(ctx context.Context, a *v1alpha1.RemediationApproval, plan *v1alpha1.Remediation,
	refused canary.Refusal) error {
	status := kube.NewStatusWriter(s.client, a)
	news := setStatus(a, plan, refused, s.clock.Now())
	if err := status.Write(ctx, a, v1alpha1.FieldManager); err != nil {
		return err
	}
	if news {
		s.announce(a, plan)
	}
	return nil
}

// setStatus says in an answer's status what has become of it, and returns whether it
// is news that it was taken.
func setStatus(a *v1alpha1.RemediationApproval, plan *v1alpha1.Remediation, refused canary.Refusal, now time.Time) (
	news bool) {
	known := meta.IsStatusConditionTrue(a.Status.Conditions, v1alpha1.ConditionReady)
	taken := refused == (canary.Refusal{})
	hold := kube.Stalled(refused.Reason, "it doesn't count: "+refused.Message) // nor will it ever
	if taken {
		hold = kube.Ready(v1alpha1.ReasonInEffect, fmt.Sprintf("Remediation %s acts by it", plan.Name))
	}
	kube.SetConditions(a, now, hold...)
	return taken && !known
}

func (s *Controller) announce(a *v1alpha1.RemediationApproval, plan *v1alpha1.Remediation) {
	reason := v1alpha1.EventApproved
	if a.Spec.Decision == v1alpha1.DecisionReject {
		reason = v1alpha1.EventRejected
	}
	s.events.Rollout(plan, reason, Describe(plan.Status.Approval))
	s.metrics.answered(plan)
}

// answersOf are the answers to a plan.
func (s *Controller) answersOf(ctx context.Context, plan client.Object) []ctrl.Request {
	list := &v1alpha1.RemediationApprovalList{}
	if err := s.client.List(ctx, list); err != nil {
		return nil
	}
	var requests []ctrl.Request
	for i := range list.Items {
		if list.Items[i].Spec.RemediationRef.Name == plan.GetName() {
			requests = append(requests, ctrl.Request{NamespacedName: types.NamespacedName{Name: list.Items[i].Name}})
		}
	}
	return requests
}
