// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/seal"
)

// ErrNotRecorded says that no record of a plan at work holds what a request would
// bring back.
var ErrNotRecorded = errors.New("no record of a plan that is undoing its writes holds this")

// Proof proves rollbacks.
type Proof struct {
	// Reader reads past every cache, and errs for what isn't sealed by the manager.
	Reader client.Reader

	index index
}

// Check says why a request isn't known to undo a write of the manager's; nil when
// it is.
func (p *Proof) Check(ctx context.Context, r *policy.Request) error {
	if r.Partial || r.SubResource != "" && r.SubResource != policy.StatusSubresource {
		return ErrNotRecorded
	}
	at := placeOf(r)
	for _, fresh := range []bool{false, true} {
		if fresh {
			if err := p.index.refresh(ctx, p.Reader); err != nil {
				return fmt.Errorf("look for the plan that undoes its writes: %w", err)
			}
		}
		for _, s := range p.index.slices(at) {
			proven, err := p.in(ctx, s, r)
			if err != nil {
				return err
			}
			if proven {
				return nil
			}
		}
	}
	return ErrNotRecorded
}

// in says whether a slice, as it is now, holds what a request would bring back.
func (p *Proof) in(ctx context.Context, at sliceOf, r *policy.Request) (bool, error) {
	plan, slice := &v1alpha1.Remediation{}, &v1alpha1.RemediationSlice{}
	if err := p.Reader.Get(ctx, client.ObjectKey{Name: at.plan}, plan); err != nil {
		return false, tellsNothing(err)
	}
	if plan.Status.Phase.Final() {
		return false, nil
	}
	if err := p.Reader.Get(ctx, client.ObjectKey{Name: at.slice}, slice); err != nil {
		return false, tellsNothing(err)
	}
	if !belongs(slice, plan) {
		return false, nil
	}
	for i, rec := range slice.Records {
		if i >= len(slice.Targets) || !undoable(plan.Status.Phase, rec.State) ||
			placeOfTarget(slice.Targets[i].Object) != placeOf(r) {
			continue
		}
		if proven, err := brings(slice.Targets[i].Object, rec, r); proven || err != nil {
			return proven, err
		}
	}
	return false, nil
}

// belongs says whether a slice, and what is recorded in it, is this very plan's.
func belongs(slice *v1alpha1.RemediationSlice, plan *v1alpha1.Remediation) bool {
	return slice.Remediation == plan.Name && seal.CheckOwner(slice, plan) == nil
}

// undoable says whether a plan may undo the write of a target in a state: any in a
// rollback, and before it what is taken back of a fix that was written in part.
func undoable(phase v1alpha1.RemediationPhase, state v1alpha1.TargetState) bool {
	switch state {
	case v1alpha1.TargetIntent, v1alpha1.TargetPending:
		return true
	case v1alpha1.TargetApplied, v1alpha1.TargetVerified, v1alpha1.TargetDone:
		return phase == v1alpha1.PhaseRollingBack
	case v1alpha1.TargetPreviewed, v1alpha1.TargetSkipped, v1alpha1.TargetFailed,
		v1alpha1.TargetReverted, v1alpha1.TargetRevertConflict:
	}
	return false
}

// tellsNothing is nil for an error that means that nothing is recorded: what isn't
// there, or isn't the manager's. Another record may still hold what is asked.
func tellsNothing(err error) error {
	if errors.Is(err, seal.ErrUnproven) {
		return nil
	}
	return client.IgnoreNotFound(err)
}
