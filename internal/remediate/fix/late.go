// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/remediate/record"
)

// LandingPoll is how often an object is looked at that a write may still reach.
const LandingPoll = 10 * time.Second

// lateArrival recognizes an earlier recorded write of this plan that reached the
// object only after it had been given up for lost: it is ours, and must be
// verified like any other.
func (a *Attempt) lateArrival() *v1alpha1.TargetRecord {
	write := a.Previous.Write
	if !record.MayLand(&a.Previous) || write == nil || write.UID != string(a.Object.GetUID()) {
		return nil
	}
	if Removes(write) || write.Action.Creates() {
		return nil
	}
	fields, err := action.FromRecordFields(write.Fields)
	if err != nil {
		return nil
	}
	digest, err := action.DigestAfter(action.Observe(a.Object.Object, fields))
	if err != nil || digest != write.DigestAfter {
		return nil
	}
	now, rec := metav1.NewMicroTime(a.Targets.Clock.Now()), *a.Previous.DeepCopy()
	if err := Arrived(rec.Write, a.Object); err != nil {
		return a.Retry(err.Error(), a.Targets.Backoff(a.Previous.Attempts))
	}
	rec = Applied(rec, now)
	return &rec
}

// lateRemoval recognizes an earlier recorded removal that reached the object only
// after it had been given up for lost.
func (a *Attempt) lateRemoval(obj *unstructured.Unstructured, err error) *v1alpha1.TargetRecord {
	write := a.Previous.Write
	if !record.MayLand(&a.Previous) || !Removes(write) || err != nil && kube.Classify(err) != kube.Gone ||
		err == nil && string(obj.GetUID()) == write.UID && obj.GetDeletionTimestamp() == nil {
		return nil
	}
	rec := Applied(a.Previous, metav1.NewMicroTime(a.Targets.Clock.Now()))
	return &rec
}

// KeepLanding leaves a target pending, and in its wave, that would be settled or put
// into another while an earlier write of ours may still reach it: nobody would look at
// it any more.
func (a *Attempt) KeepLanding(rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	moves := rec.Wave != nil && (a.Previous.Wave == nil || *rec.Wave != *a.Previous.Wave)
	if !rec.State.Settled() && !moves || !record.MayLand(&a.Previous) {
		return rec
	}
	return a.AwaitLanding("an earlier write of ours may still reach the object; once it can't: " + rec.Reason + ": " +
		rec.Message)
}

// AwaitLanding leaves a target pending, with the record of its write, for another look.
func (a *Attempt) AwaitLanding(message string) v1alpha1.TargetRecord {
	rec := a.Pending(v1alpha1.ReasonOutcomeUnknown, message)
	next := metav1.NewMicroTime(a.Targets.Clock.Now().Add(LandingPoll))
	rec.NextAttemptTime = &next
	return *rec
}
