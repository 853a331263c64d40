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
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/remediate/action"
)

// The limits of the record of one write; those of the schema of WriteRecord.
const (
	maxRecordBytes = 32 << 10
	maxRecordItems = 256
	maxPathBytes   = 1024
)

// attempt is one try to compute and prove a target's fix, from fresh state.
type attempt struct {
	targets  *targets
	plan     v1alpha1.RemediationSpec
	target   v1alpha1.Target
	canary   bool
	previous v1alpha1.TargetRecord
	snapshot *catalog.Snapshot

	object    *unstructured.Unstructured
	namespace *unstructured.Unstructured
	decision  policy.Decision
	patched   map[string]any
	fields    []action.Field
	keys      []policy.PatchOp
}

// prepare runs the protocol. It returns a record in state Intent when the write
// may be made, and otherwise the record that says why not.
func (a *attempt) prepare(ctx context.Context) v1alpha1.TargetRecord {
	for _, step := range protocol() {
		if rec := step(ctx, a); rec != nil {
			return *rec
		}
	}
	rec, err := a.intent()
	if err != nil {
		return *a.failed(v1alpha1.ReasonFixInvalid, err.Error())
	}
	return rec
}

// intent is the record of the write that is about to be sent.
func (a *attempt) intent() (v1alpha1.TargetRecord, error) {
	now := metav1.NewMicroTime(a.targets.clock.Now())
	health, _, err := kube.HealthOf(a.object)
	if err != nil {
		return v1alpha1.TargetRecord{}, err
	}
	write := &v1alpha1.WriteRecord{UID: string(a.object.GetUID()), ResourceVersion: a.object.GetResourceVersion(),
		HealthBefore: health.String(), IntentAt: &now}
	if write.Forward, err = action.ToRecordOps(action.Ops(a.decision.Actions)); err != nil {
		return v1alpha1.TargetRecord{}, err
	}
	if write.Keys, err = action.ToRecordOps(a.keys); err != nil {
		return v1alpha1.TargetRecord{}, err
	}
	if err := setFields(write, a.fields); err != nil {
		return v1alpha1.TargetRecord{}, err
	}
	rec := a.previous
	rec.State, rec.Reason, rec.Message, rec.NextAttemptAt, rec.Write = v1alpha1.TargetIntent, "", "", nil, write
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
	return a.settled(v1alpha1.TargetSkipped, reason, message)
}

func (a *attempt) failed(reason, message string) *v1alpha1.TargetRecord {
	return a.settled(v1alpha1.TargetFailed, reason, message)
}

func (a *attempt) settled(state v1alpha1.TargetState, reason, message string) *v1alpha1.TargetRecord {
	rec := a.previous
	rec.State, rec.Reason, rec.Message, rec.NextAttemptAt = state, reason, truncate(message, 1024), nil
	if state != v1alpha1.TargetPending {
		rec.Write = nil
	}
	return &rec
}

func (a *attempt) pending(reason, message string) *v1alpha1.TargetRecord {
	return a.settled(v1alpha1.TargetPending, reason, message)
}

// retry leaves the target pending for another try, until the strategy's limit.
func (a *attempt) retry(message string, after time.Duration) *v1alpha1.TargetRecord {
	if limit := a.plan.Strategy.RetryLimit; limit != nil && a.previous.Attempts >= *limit {
		return a.failed(v1alpha1.ReasonRetriesExhausted, fmt.Sprintf("gave up after %d tries: %s", a.previous.Attempts+1, message))
	}
	rec := a.pending("Retrying", message)
	rec.Attempts++
	next := metav1.NewMicroTime(a.targets.clock.Now().Add(after))
	rec.NextAttemptAt = &next
	return rec
}

// fromError decides what an API error before the write means for the target.
func (a *attempt) fromError(err error) *v1alpha1.TargetRecord {
	switch kube.Classify(err) {
	case kube.Gone:
		return a.skipped(v1alpha1.ReasonGone, "the object doesn't exist any more")
	case kube.Invalid:
		return a.failed(v1alpha1.ReasonDryRunRefused, err.Error())
	case kube.Forbidden:
		if kube.DeniedByAdmission(err) {
			return a.failed(v1alpha1.ReasonAdmissionDenied, err.Error())
		}
		return a.retry(err.Error(), a.targets.backoff(a.previous.Attempts))
	case kube.Conflict:
		return a.retry("the object changed while its fix was being computed", conflictBackoff)
	case kube.OK, kube.Transient:
	}
	if kube.DeniedByAdmission(err) {
		return a.failed(v1alpha1.ReasonAdmissionDenied, err.Error())
	}
	return a.retry(err.Error(), a.targets.backoff(a.previous.Attempts))
}
