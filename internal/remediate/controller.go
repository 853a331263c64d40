// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/internal/events"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/permissions"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/remediate/approval"
	"evenkeel.dev/evenkeel/internal/remediate/budget"
	"evenkeel.dev/evenkeel/internal/remediate/execute"
	"evenkeel.dev/evenkeel/internal/remediate/freeze"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/remediate/targets"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// Controller rolls plans out. Each reconcile takes one step: it reads the plan,
// its slices and the world anew, lets the machine decide, and does what it says.
// Nothing is kept in memory between two reconciles but copies of slices, which
// the API server is asked about before they are used (see record.Cache).
type Controller struct {
	client      client.Client
	reader      client.Reader
	policies    breaker.Policies
	clock       clock.PassiveClock
	events      *events.Recorder
	permissions *permissions.Finder
	breakers    *breaker.Set
	budgets     *budget.Budgets
	records     *record.Cache
	metrics     *metrics
	analyzer    breaker.Analyzer
	tools       kube.Tools
	landings    *execute.Landings
	soaks       *soakClock
	reach       limits.Reach
	annotate    bool
	turns       turns
	answers     *approval.Reader
	freezes     freeze.File
	// floors is how careful every strategy must be at the least.
	floors limits.Floors
	// scan tells what the writes of plans have brought to other objects; nil where nobody scans.
	scan  execute.Scan
	shown *execute.Shown
	// pollInterval is the longest that a plan waits until it looks again; zero: as is usual.
	pollInterval time.Duration
}

// Reconcile takes one step of a rollout.
func (c *Controller) Reconcile(ctx context.Context, request ctrl.Request) (result ctrl.Result, err error) {
	leave, err := c.turns.take(ctx, request.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	defer leave()
	rem := &v1alpha1.Remediation{}
	if err := c.reader.Get(ctx, request.NamespacedName, rem); err != nil {
		c.forget(request.Name)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if rem.Rests() {
		c.forget(request.Name)
		return c.classify(ctx, rem.Name, ctrl.Result{}, errors.Join(c.tellAtRest(ctx, rem), c.finish(ctx, rem)))
	}
	if !c.policies.Complete() {
		return ctrl.Result{RequeueAfter: catalog.Poll}, nil
	}
	if err := c.reopen(ctx, rem); err != nil {
		return c.classify(ctx, rem.Name, ctrl.Result{}, err)
	}
	status := kube.NewStatusWriter(c.client, rem)
	defer func() {
		err = errors.Join(err, status.Write(ctx, rem, v1alpha1.FieldManager))
		result, err = c.classify(ctx, rem.Name, result, err)
	}()
	wait, err := c.step(ctx, rem)
	return ctrl.Result{RequeueAfter: max(wait, time.Millisecond)}, err
}

// forget drops what is kept of a plan in memory.
func (c *Controller) forget(plan string) {
	c.records.Drop(plan)
	c.landings.Drop(plan)
	c.shown.Drop(plan)
	c.soaks.drop(plan)
}

// classify decides once what an error means: a conflict is somebody else's newer
// state and is looked at again quietly; a plan that can't be read waits for a
// person; everything else backs off.
func (c *Controller) classify(ctx context.Context, plan string, result ctrl.Result, err error) (ctrl.Result, error) {
	switch {
	case err == nil:
		return result, nil
	case record.Unreadable(err):
		return ctrl.Result{}, reconcile.TerminalError(err)
	case kube.Classify(err) == kube.Conflict:
		log.FromContext(ctx).V(1).Info("somebody else wrote first; retrying", "error", err.Error())
		c.records.Drop(plan)
		return ctrl.Result{RequeueAfter: kube.ConflictBackoff}, nil
	default:
		return ctrl.Result{}, err
	}
}

// step observes, decides and acts once.
func (c *Controller) step(ctx context.Context, rem *v1alpha1.Remediation) (time.Duration, error) {
	b, err := c.records.Read(ctx, rem)
	if err != nil {
		return c.withoutRecords(ctx, rem, err)
	}
	if err := c.adopt(ctx, rem, b); err != nil {
		return 0, err
	}
	p := c.newPass(rem, b)
	if wait, err := c.tellOwners(ctx, p); err != nil || wait > 0 {
		return wait, err
	}
	before := b.Views()
	defer c.budgets.Release(rem.Name)
	o, err := c.gather(ctx, p)
	if err != nil {
		return 0, err
	}
	intent, err := rollout.Step(o)
	if err != nil {
		return 0, reconcile.TerminalError(err)
	}
	executor := c.executor()
	if intent, err = executor.permitted(ctx, p, intent); err != nil {
		return 0, err
	}
	if err := executor.act(ctx, p, intent); err != nil {
		return 0, err
	}
	c.keepEvidence(ctx, p, intent)
	c.report(rem, o, intent, before, b)
	c.record(rem, intent, b)
	return c.propose(ctx, p, intent)
}

// newPass is one reconcile's work on a plan.
func (c *Controller) newPass(rem *v1alpha1.Remediation, b *record.Records) *execute.Pass {
	snapshot := c.policies.Snapshot()
	p := &execute.Pass{Remediation: rem, Records: b, InForce: snapshot, Snapshot: snapshot,
		Landings: c.landings, Scan: c.scan, Shown: c.shown,
		Targets: &targets.Client{Reader: c.reader, Writer: c.client, Mapper: c.permissions.Mapper, Clock: c.clock,
			Tools: c.tools, Reach: c.reach, Annotate: c.annotate, Owners: targets.OwnerMemo{Reader: c.reader}}}
	p.Gate = &execute.LastGate{Ask: func(ctx context.Context) (rollout.Gate, error) { return c.stillOpen(ctx, rem) }}
	p.Save = func(ctx context.Context) error { return c.executor().persist(ctx, p) }
	p.Partners = func(ctx context.Context, uids map[string]bool) []*execute.Partner { return c.partners(ctx, p, uids) }
	return p
}

// recordEnd keeps when the plan has ended, if it has.
func recordEnd(rem *v1alpha1.Remediation, now metav1.MicroTime) {
	s := &rem.Status
	switch {
	case !s.Phase.Final():
		s.CompletionTime = nil // an undo ends the plan anew
	case s.CompletionTime == nil:
		// What was asked of it before it ended has had its time.
		s.CompletionTime, s.LastHandledRetryToken = &now, rem.Spec.RetryToken
	}
}

// recordPlace keeps where the rollout stands, and since when.
func recordPlace(s *v1alpha1.RemediationStatus, intent rollout.Intent, now *metav1.MicroTime) {
	if intent.Wave != s.Wave || s.WaveStartTime == nil || intent.Anew {
		s.WaveStartTime = now
	}
	if intent.Phase != s.Phase || intent.Wave != s.Wave {
		s.PhaseStartTime = now
	}
	s.Phase, s.Wave = intent.Phase, intent.Wave
}

// record puts the step into the status, which is written once at the end.
func (c *Controller) record(rem *v1alpha1.Remediation, intent rollout.Intent, b *record.Records) {
	now := metav1.NewMicroTime(c.clock.Now())
	s := &rem.Status
	if counts := b.Counts(); rollout.Progressed(s, intent, counts) {
		s.ProgressedTime = &now
	}
	s.HeldFrom = intent.HeldFrom
	if intent.Retry != "" {
		s.Retries, s.LastHandledRetryToken = s.Retries+1, intent.Retry
	}
	recordPlace(s, intent, &now)
	s.Reason, s.Message = intent.Reason, prose.Shorten(intent.Message, 2048)
	s.HealthyTime = nil
	if !intent.HealthySince.IsZero() {
		since := metav1.NewMicroTime(intent.HealthySince)
		s.HealthyTime = &since
	}
	if intent.FailedIn != nil {
		s.FailedIn = intent.FailedIn
	}
	recordEnd(rem, now)
	setHeldSince(s, intent, &now)
	if intent.Anew {
		resetAnalysis(s.Analysis, intent.Retry != "")
	}
	s.Counts = b.Counts()
	stuck := ""
	if intent.Stuck {
		stuck = v1alpha1.ReasonRollbackStuck
	}
	c.setConditions(rem, stuck)
}
