// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/remediate/action"
	"evenkeel.dev/evenkeel/internal/remediate/record"
)

// lateArrival recognizes an earlier recorded write of this plan that reached the
// object only after it had been given up for lost: it is ours, and must be
// verified like any other.
func (a *attempt) lateArrival() *v1alpha1.TargetRecord {
	write := a.previous.Write
	if !record.MayLand(&a.previous) || write == nil || write.UID != string(a.object.GetUID()) {
		return nil
	}
	if removes(write) || write.Action == v1alpha1.ActionCreate {
		return nil
	}
	fields, err := action.FromRecordFields(write.Fields)
	if err != nil {
		return nil
	}
	digest, err := action.DigestAfter(action.Observe(a.object.Object, fields))
	if err != nil || digest != write.DigestAfter {
		return nil
	}
	now, rec := metav1.NewMicroTime(a.targets.clock.Now()), *a.previous.DeepCopy()
	err = arrived(rec.Write, a.object)
	if err == nil {
		err = patching{}.keep(rec.Write, a.object)
	}
	if err != nil {
		return a.retry(err.Error(), a.targets.backoff(a.previous.Attempts))
	}
	rec = applied(rec, now)
	return &rec
}

// lateRemoval recognizes an earlier recorded removal that reached the object only
// after it had been given up for lost.
func (a *attempt) lateRemoval(obj *unstructured.Unstructured, err error) *v1alpha1.TargetRecord {
	write := a.previous.Write
	if !record.MayLand(&a.previous) || !removes(write) || err != nil && kube.Classify(err) != kube.Gone ||
		err == nil && string(obj.GetUID()) == write.UID && obj.GetDeletionTimestamp() == nil {
		return nil
	}
	rec := applied(a.previous, metav1.NewMicroTime(a.targets.clock.Now()))
	return &rec
}
