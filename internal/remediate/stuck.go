// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// withoutRecords is the end of a step whose records can't be read. A plan that was made again under
// its name, by a restore for example, has written nothing, and may go.
func (c *Controller) withoutRecords(ctx context.Context, rem *v1alpha1.Remediation, err error) (time.Duration, error) {
	var incomplete record.IncompleteError
	switch {
	case !errors.As(err, &incomplete):
		return 0, err
	case incomplete.Foreign && rem.DeletionTimestamp != nil:
		return 0, c.finish(ctx, rem)
	}
	c.stuck(rem, err)
	return 0, err
}

// stuck says that the plan can't be read, and so can neither go on nor end.
func (c *Controller) stuck(rem *v1alpha1.Remediation, err error) {
	message := fmt.Sprintf("%s: nothing can be undone without it. Restore it from a backup, "+
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
