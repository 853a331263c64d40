// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/rollout"
	"evenkeel.dev/evenkeel/internal/remediate/targets"
)

// unservedTries is how often a kind must be missed, beside for how long, until the
// undoing of a write is given up: a clock may be wrong.
const unservedTries = 3

// undoServed leaves a write to be undone when its object's kind is served again. Is
// that long in coming, the kind is taken for uninstalled, and the write for one that
// can't be undone. It isn't given up while the write itself may still arrive.
func (p *Pass) undoServed(rec v1alpha1.TargetRecord, lands time.Time, err error) v1alpha1.TargetRecord {
	now := metav1.NewMicroTime(p.Targets.Clock.Now())
	since := rec.WaitingSince
	if since == nil {
		since = &now
	}
	patience := rollout.UnobservedFactor * p.Remediation.Spec.Plan.Strategy.ProgressDeadline.Duration
	if now.Sub(since.Time) > patience && rec.Attempts >= unservedTries && !now.Time.Before(lands) {
		return p.ended(rec, v1alpha1.TargetRevertConflict, v1alpha1.ReasonNotServed, fmt.Sprintf(
			"not undone within %s: %s. Is the kind served again, compare the record with the object", patience,
			targets.Unserved(err)))
	}
	rec = p.notYet(rec, errors.New(targets.Unserved(err)))
	rec.WaitingSince = since
	return rec
}
