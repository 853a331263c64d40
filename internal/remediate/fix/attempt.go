// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/remediate/healthcheck"
	"evenkeel.dev/evenkeel/internal/remediate/targets"
)

// Attempt is one try to compute and prove a target's fix, from fresh state.
type Attempt struct {
	Targets  *targets.Client
	Plan     v1alpha1.RemediationPlan
	Target   v1alpha1.Target
	Canary   bool
	Previous v1alpha1.TargetRecord
	Snapshot targets.Verdicts
	// Remediation is the plan's name.
	Remediation string

	Object    *unstructured.Unstructured
	Namespace *unstructured.Unstructured
	decision  policy.Decision
	// Unmarkable says that with the mark, the object would violate what it doesn't without it.
	Unmarkable bool
	Steps      []action.Step
	// Patched is the object after the fix; nil when it is gone then.
	Patched map[string]any
	Writes  []*Write
	// Owner is who must fix the object, when a controller makes it.
	Owner *v1alpha1.ObjectReference
}

// Prepare runs the protocol. It returns a record in state Intent when the writes
// may be made, and otherwise the record that says why not.
func (a *Attempt) Prepare(ctx context.Context) v1alpha1.TargetRecord {
	for _, step := range protocol() {
		if rec := step(ctx, a); rec != nil {
			return a.KeepLanding(*rec)
		}
	}
	rec, err := a.Intent()
	if err != nil {
		return a.KeepLanding(*a.Failed(v1alpha1.ReasonFixInvalid, err.Error()))
	}
	return rec
}

// Intent is the record of the writes that are about to be sent.
func (a *Attempt) Intent() (v1alpha1.TargetRecord, error) {
	now := metav1.NewMicroTime(a.Targets.Clock.Now())
	health, _, err := healthcheck.Of(a.Plan.Rollout, a.Object)
	if err != nil {
		return v1alpha1.TargetRecord{}, err
	}
	ready, _ := kube.ReadyPods(a.Object)
	for _, w := range a.Writes {
		w.Record.IntentTime, w.Record.ReadyBefore = &now, ready
		if w.Record.HealthBefore == "" {
			w.Record.HealthBefore = health.String()
		}
	}
	rec := WithWrites(a.Previous, a.Writes)
	rec.State, rec.Reason, rec.Message, rec.NextAttemptTime, rec.WaitingTime = v1alpha1.TargetIntent, "", "", nil, nil
	return rec, nil
}

// SetFields puts into a write's record the fields that it changes, and the digests by which
// they are recognized.
func SetFields(write *v1alpha1.WriteRecord, fields []action.Field) (err error) {
	if write.Fields, err = action.ToRecordFields(fields); err != nil {
		return err
	}
	if write.DigestBefore, err = action.DigestBefore(fields); err != nil {
		return err
	}
	write.DigestAfter, err = action.DigestAfter(fields)
	return err
}

func (a *Attempt) request(object map[string]any) *policy.Request {
	return a.Targets.Audit(object, a.Namespace)
}

// afterwards asks about an object in a cluster in which the fix has been made, as far as rules
// look other objects up.
func (a *Attempt) afterwards(object map[string]any) *policy.Request {
	namespace := a.Namespace
	if in, _ := action.Lookup(object, "/metadata/namespace"); namespace == nil && in == a.Object.GetName() {
		namespace = &unstructured.Unstructured{Object: a.Patched} // it is the target itself
	}
	r := a.Targets.Audit(object, namespace)
	if a.Patched != nil {
		r.Beside = append(r.Beside, a.Patched)
	}
	for _, made := range a.manifests() {
		r.Beside = append(r.Beside, made.Object)
	}
	return r
}

// Skipped is the record of a target that is left alone.
func (a *Attempt) Skipped(reason, message string) *v1alpha1.TargetRecord {
	return a.ended(v1alpha1.TargetSkipped, reason, message)
}

// Failed is the record of a target that can't be fixed.
func (a *Attempt) Failed(reason, message string) *v1alpha1.TargetRecord {
	return a.ended(v1alpha1.TargetFailed, reason, message)
}

func (a *Attempt) ended(state v1alpha1.TargetState, reason, message string) *v1alpha1.TargetRecord {
	rec := a.Previous
	rec.State, rec.Reason, rec.Message, rec.NextAttemptTime, rec.WaitingTime = state, reason,
		prose.Shorten(message, 1024), nil, nil
	if state != v1alpha1.TargetPending {
		rec.Preceding, rec.Write = nil, nil
	}
	return &rec
}

// Pending is the record of a target that is tried again.
func (a *Attempt) Pending(reason, message string) *v1alpha1.TargetRecord {
	return a.ended(v1alpha1.TargetPending, reason, message)
}

// Retry leaves the target pending for another try, until the strategy's limit.
func (a *Attempt) Retry(message string, after time.Duration) *v1alpha1.TargetRecord {
	if limit := a.Plan.Rollout.RetryLimit; a.Previous.Attempts >= limit {
		return a.Failed(v1alpha1.ReasonRetriesExhausted,
			fmt.Sprintf("gave up after %s: %s", prose.Count(a.Previous.Attempts+1, "try"), message))
	}
	rec := a.Pending(v1alpha1.ReasonRetrying, message)
	rec.Attempts++
	next := metav1.NewMicroTime(a.Targets.Clock.Now().Add(after))
	rec.NextAttemptTime = &next
	return rec
}

// waitPoll is how often a target is tried again that waits for others: a Pod for its
// PodDisruptionBudget, an object for its kind to be served.
const waitPoll = 2 * time.Second

// waitFor leaves the target pending for what others must do first, up to the
// progress deadline. It is no failure, and no try. What it is to come to is for the
// message of a target that has waited too long.
func (a *Attempt) waitFor(reason, what, message string) *v1alpha1.TargetRecord {
	now := metav1.NewMicroTime(a.Targets.Clock.Now())
	since := a.Previous.WaitingTime
	if since == nil || a.Previous.Reason != reason {
		since = &now
	}
	if deadline := a.Plan.Rollout.ProgressDeadline.Duration; now.Sub(since.Time) > deadline {
		return a.Failed(reason, fmt.Sprintf("couldn't be %s within %s: %s", what, deadline, message))
	}
	rec := a.Pending(reason, message)
	rec.WaitingTime = since
	next := metav1.NewMicroTime(now.Add(waitPoll))
	rec.NextAttemptTime = &next
	return rec
}

// unjudged is the record of a target that a policy can't judge. It waits for what rules look up to be known, which says
// nothing of the fix; all else is an error of the policy.
func (a *Attempt) unjudged(err error, message string) *v1alpha1.TargetRecord {
	if policy.LookupUnknown(err) {
		return a.waitFor(v1alpha1.ReasonUnobserved, "judged", message)
	}
	return a.Failed(v1alpha1.ReasonEvaluationError, message)
}

// AwaitLookups leaves the target pending until what the policy looks up is as the plan has left it.
func (a *Attempt) AwaitLookups(behind error) v1alpha1.TargetRecord {
	return a.KeepLanding(*a.waitFor(v1alpha1.ReasonUnobserved, "judged",
		"what the policy references isn't as this plan has left it yet: "+behind.Error()))
}

// AwaitScan leaves the target pending until it would be found what its write brings to other objects.
func (a *Attempt) AwaitScan(unseen error) v1alpha1.TargetRecord {
	return a.KeepLanding(*a.waitFor(v1alpha1.ReasonUnobserved, "written",
		"whether its write makes other objects violate a policy couldn't be told: "+unseen.Error()))
}

// FromError decides what an API error before the write means for the target.
func (a *Attempt) FromError(err error) *v1alpha1.TargetRecord {
	if message, kept := kube.KeptByBudget(err); kept {
		return a.waitFor(v1alpha1.ReasonDisruptionBudget, "evicted", message)
	}
	if kube.DeniedByAdmission(err) { // as 403 by a webhook, as 422 by an admission policy
		return a.Failed(v1alpha1.ReasonAdmissionDenied, err.Error())
	}
	if kube.PutOffByAdmission(err) {
		return a.waitFor(v1alpha1.ReasonUnobserved, "judged", err.Error())
	}
	switch kube.Classify(err) {
	case kube.Gone:
		return a.Skipped(v1alpha1.ReasonGone, "the object doesn't exist any more")
	case kube.Unserved:
		return a.waitFor(v1alpha1.ReasonNotServed, "written", targets.Unserved(err))
	case kube.Invalid:
		return a.Failed(v1alpha1.ReasonDryRunRefused, err.Error())
	case kube.Forbidden:
		return a.Retry(err.Error(), a.Targets.Backoff(a.Previous.Attempts))
	case kube.Conflict:
		return a.Retry("the object changed while its fix was being computed", kube.ConflictBackoff)
	case kube.OK, kube.Transient:
	}
	return a.Retry(err.Error(), a.Targets.Backoff(a.Previous.Attempts))
}
