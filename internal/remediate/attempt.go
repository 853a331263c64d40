// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/remediate/action"
	"evenkeel.dev/evenkeel/internal/remediate/healthcheck"
)

// attempt is one try to compute and prove a target's fix, from fresh state.
type attempt struct {
	targets  *targets
	plan     v1alpha1.RemediationPlan
	target   v1alpha1.Target
	canary   bool
	previous v1alpha1.TargetRecord
	snapshot verdicts
	// remediation is the plan's name.
	remediation string

	object    *unstructured.Unstructured
	namespace *unstructured.Unstructured
	decision  policy.Decision
	steps     []action.Step
	// patched is the object after the fix; nil when it is gone then.
	patched map[string]any
	writes  []*write
	// owner is who must fix the object, when a controller makes it.
	owner *v1alpha1.ObjectReference
}

// prepare runs the protocol. It returns a record in state Intent when the writes
// may be made, and otherwise the record that says why not.
func (a *attempt) prepare(ctx context.Context) v1alpha1.TargetRecord {
	for _, step := range protocol() {
		if rec := step(ctx, a); rec != nil {
			return a.keepLanding(*rec)
		}
	}
	rec, err := a.intent()
	if err != nil {
		return a.keepLanding(*a.failed(v1alpha1.ReasonFixInvalid, err.Error()))
	}
	return rec
}

// intent is the record of the writes that are about to be sent.
func (a *attempt) intent() (v1alpha1.TargetRecord, error) {
	now := metav1.NewMicroTime(a.targets.clock.Now())
	health, _, err := healthcheck.Of(a.plan.Strategy, a.object)
	if err != nil {
		return v1alpha1.TargetRecord{}, err
	}
	ready, _ := kube.ReadyPods(a.object)
	for _, w := range a.writes {
		w.record.IntentAt, w.record.ReadyBefore = &now, ready
		if w.record.HealthBefore == "" {
			w.record.HealthBefore = health.String()
		}
	}
	rec := withWrites(a.previous, a.writes)
	rec.State, rec.Reason, rec.Message, rec.NextAttemptAt, rec.WaitingSince = v1alpha1.TargetIntent, "", "", nil, nil
	return rec, nil
}

func setFields(write *v1alpha1.WriteRecord, fields []action.Field) (err error) {
	if write.Fields, err = action.ToRecordFields(fields); err != nil {
		return err
	}
	if write.DigestBefore, err = action.DigestBefore(fields); err != nil {
		return err
	}
	write.DigestAfter, err = action.DigestAfter(fields)
	return err
}

func (a *attempt) request(object map[string]any) *policy.Request {
	return a.targets.audit(object, a.namespace)
}

func (a *attempt) skipped(reason, message string) *v1alpha1.TargetRecord {
	return a.ended(v1alpha1.TargetSkipped, reason, message)
}

func (a *attempt) failed(reason, message string) *v1alpha1.TargetRecord {
	return a.ended(v1alpha1.TargetFailed, reason, message)
}

func (a *attempt) ended(state v1alpha1.TargetState, reason, message string) *v1alpha1.TargetRecord {
	rec := a.previous
	rec.State, rec.Reason, rec.Message, rec.NextAttemptAt, rec.WaitingSince = state, reason,
		prose.Shorten(message, 1024), nil, nil
	if state != v1alpha1.TargetPending {
		rec.Preceding, rec.Write = nil, nil
	}
	return &rec
}

func (a *attempt) pending(reason, message string) *v1alpha1.TargetRecord {
	return a.ended(v1alpha1.TargetPending, reason, message)
}

// retry leaves the target pending for another try, until the strategy's limit.
func (a *attempt) retry(message string, after time.Duration) *v1alpha1.TargetRecord {
	if limit := a.plan.Strategy.RetryLimit; limit != nil && a.previous.Attempts >= *limit {
		return a.failed(v1alpha1.ReasonRetriesExhausted,
			fmt.Sprintf("gave up after %d tries: %s", a.previous.Attempts+1, message))
	}
	rec := a.pending("Retrying", message)
	rec.Attempts++
	next := metav1.NewMicroTime(a.targets.clock.Now().Add(after))
	rec.NextAttemptAt = &next
	return rec
}

// waitPoll is how often a target is tried again that waits for others: a Pod for its
// PodDisruptionBudget, an object for its kind to be served.
const waitPoll = 2 * time.Second

// waitFor leaves the target pending for what others must do first, up to the
// progress deadline. It is no failure, and no try. What it is to come to is for the
// message of a target that has waited too long.
func (a *attempt) waitFor(reason, what, message string) *v1alpha1.TargetRecord {
	now := metav1.NewMicroTime(a.targets.clock.Now())
	since := a.previous.WaitingSince
	if since == nil || a.previous.Reason != reason {
		since = &now
	}
	if deadline := a.plan.Strategy.ProgressDeadline.Duration; now.Sub(since.Time) > deadline {
		return a.failed(reason, fmt.Sprintf("couldn't be %s within %s: %s", what, deadline, message))
	}
	rec := a.pending(reason, message)
	rec.WaitingSince = since
	next := metav1.NewMicroTime(now.Add(waitPoll))
	rec.NextAttemptAt = &next
	return rec
}

// fromError decides what an API error before the write means for the target.
func (a *attempt) fromError(err error) *v1alpha1.TargetRecord {
	if message, kept := kube.KeptByBudget(err); kept {
		return a.waitFor(v1alpha1.ReasonDisruptionBudget, "evicted", message)
	}
	if kube.DeniedByAdmission(err) { // as 403 by a webhook, as 422 by an admission policy
		return a.failed(v1alpha1.ReasonAdmissionDenied, err.Error())
	}
	switch kube.Classify(err) {
	case kube.Gone:
		return a.skipped(v1alpha1.ReasonGone, "the object doesn't exist any more")
	case kube.Unserved:
		return a.waitFor(v1alpha1.ReasonNotServed, "written", unserved(err))
	case kube.Invalid:
		return a.failed(v1alpha1.ReasonDryRunRefused, err.Error())
	case kube.Forbidden:
		return a.retry(err.Error(), a.targets.backoff(a.previous.Attempts))
	case kube.Conflict:
		return a.retry("the object changed while its fix was being computed", kube.ConflictBackoff)
	case kube.OK, kube.Transient:
	}
	return a.retry(err.Error(), a.targets.backoff(a.previous.Attempts))
}
