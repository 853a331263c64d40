// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/remediate/rollout"
	"evenkeel.dev/evenkeel/internal/seal"
)

// unprovenAdvice is what to do about a plan that isn't proven to be ours.
const unprovenAdvice = ". Nothing is written for it, nor undone: compare what it says with the objects, undo by hand " +
	"what isn't wanted, then delete it"

// distrustPoll is how often a plan that isn't proven to be ours is looked at again.
const distrustPoll = 30 * time.Second

// distrust holds a plan that isn't proven to be ours: nothing is written for it, and
// nothing undone. It says so, and lets it go when somebody deletes it.
func (c *Controller) distrust(ctx context.Context, rem *v1alpha1.Remediation, why error) error {
	c.records.Drop(rem.Name)
	if rem.DeletionTimestamp != nil {
		return c.finish(ctx, rem)
	}
	message := prose.Shorten(why.Error()+unprovenAdvice, 2048)
	told := rem.DeepCopy()
	kube.SetConditions(told, c.clock.Now(), append(unprovenConditions(message), ended(rem)...)...)
	if equality.Semantic.DeepEqual(told.Status, rem.Status) {
		return nil
	}
	log.FromContext(ctx).Error(why, "a plan is left alone", "remediation", rem.Name)
	c.events.Rollout(rem, v1alpha1.EventRemediationStuck, message)
	return c.client.Status().Patch(ctx, told, client.MergeFrom(rem), client.FieldOwner(v1alpha1.FieldManager))
}

// withoutRecords is the end of a step whose records can't be read. A plan whose records
// aren't proven is let go when somebody deletes it: nothing can be undone by them.
func (c *Controller) withoutRecords(ctx context.Context, rem *v1alpha1.Remediation, err error) (time.Duration, error) {
	var incomplete record.IncompleteError
	unproven := errors.Is(err, seal.ErrUnproven)
	if unproven && rem.DeletionTimestamp != nil {
		return distrustPoll, c.finish(ctx, rem)
	}
	switch {
	case errors.As(err, &incomplete):
		c.stuck(rem, err)
	case unproven:
		c.standStill(rem, v1alpha1.ReasonUnproven, prose.Shorten(err.Error()+unprovenAdvice, 2048))
	}
	return 0, err
}

// stuck says that the plan can't be read, and so can neither go on nor end.
func (c *Controller) stuck(rem *v1alpha1.Remediation, err error) {
	message := fmt.Sprintf("%s: somebody deleted it, and what it knew of undoing with it. Restore it from a backup, "+
		"or check the plan's targets by hand "+
		"and then let the plan go: kubectl delete remediation %[2]s --wait=false; kubectl patch remediation %[2]s "+
		"--type=merge -p '{\"metadata\":{\"finalizers\":null}}'", err, rem.Name)
	c.standStill(rem, v1alpha1.ReasonSliceMissing, message)
}

// standStill says why a plan can neither go on nor end, and tells people once.
func (c *Controller) standStill(rem *v1alpha1.Remediation, reason, message string) {
	news := rem.Status.Reason != reason || rem.Status.Message != message
	rem.Status.Reason, rem.Status.Message = reason, message
	now := metav1.NewMicroTime(c.clock.Now())
	setHeldSince(&rem.Status, rollout.Intent{Stuck: true}, &now)
	c.setConditions(rem, reason)
	if news {
		c.events.Rollout(rem, v1alpha1.EventRemediationStuck, message)
	}
}
