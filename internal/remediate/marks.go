// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/record"
)

// read reads a plan, and errs for one whose status isn't the latest that the manager
// has written.
func (c *Controller) read(ctx context.Context, name string, rem *v1alpha1.Remediation) error {
	if err := c.reader.Get(ctx, client.ObjectKey{Name: name}, rem); err != nil {
		return err
	}
	return c.marks.CheckPlan(ctx, rem)
}

// readRecords reads a plan's records, and errs for those that aren't the latest.
func (c *Controller) readRecords(ctx context.Context, rem *v1alpha1.Remediation) (*record.Records, error) {
	b, err := c.records.Read(ctx, rem)
	if err != nil {
		return nil, err
	}
	if err := c.marks.CheckSlices(ctx, rem, b.Slices); err != nil {
		return nil, err
	}
	c.marks.Seen(rem, b.Slices)
	return b, nil
}

// keepMark writes down how far a plan has come. That it can't stops nothing: the next
// step tries it again.
func (c *Controller) keepMark(ctx context.Context, rem *v1alpha1.Remediation) {
	c.marks.Seen(rem, nil)
	if err := c.marks.Keep(ctx, rem); err != nil {
		log.FromContext(ctx).Error(err, "an earlier state of the plan couldn't be distinguished from the latest "+
			"after a restart",
			"remediation", rem.Name)
	}
}

// catchUp writes down how far a plan had come that ended when the manager did.
func (c *Controller) catchUp(ctx context.Context, rem *v1alpha1.Remediation) {
	if rem.DeletionTimestamp != nil || !c.marks.Behind(rem) {
		return
	}
	if _, err := c.readRecords(ctx, rem); err != nil {
		return // whoever needs the records says so
	}
	c.keepMark(ctx, rem)
}
