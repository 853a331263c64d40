// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/targets"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// unservedTries is how often the undoing of a write must have come to nothing, beside for how long, until it is given
// up: a clock may be wrong.
const unservedTries = 3

// undoServed leaves a write to be undone when its object's kind is served again. Is
// that long in coming, the kind is taken for uninstalled, and the write for one that
// can't be undone.
func (p *Pass) undoServed(rec v1alpha1.TargetRecord, lands time.Time, err error) v1alpha1.TargetRecord {
	return p.undoneLater(rec, lands, v1alpha1.ReasonNotServed, targets.Unserved(err),
		"Is the kind served again, compare the record with the object")
}

// undoRefused leaves a write to be undone when the API server takes the object as it was again: somebody may have made
// it immutable meanwhile, or its schema stricter. Whoever edits the object could keep the plan from ending else, and
// all others of its policy from beginning. What admission denies is tried for as long as it does.
func (p *Pass) undoRefused(rec v1alpha1.TargetRecord, lands time.Time, err error) v1alpha1.TargetRecord {
	return p.undoneLater(rec, lands, v1alpha1.ReasonNoUndo, fmt.Sprintf("the API server refuses it as it was: %v", err),
		"Compare the record with the object")
}

// undoneLater leaves a write to be undone later, and gives that up after long. It isn't given up while the write itself
// may still arrive.
func (p *Pass) undoneLater(rec v1alpha1.TargetRecord, lands time.Time, reason, why,
	help string) v1alpha1.TargetRecord {
	now := metav1.NewMicroTime(p.Targets.Clock.Now())
	since := rec.WaitingTime
	if since == nil {
		since = &now
	}
	patience := rollout.UnobservedFactor * p.Remediation.Spec.Plan.Rollout.ProgressDeadline.Duration
	if now.Sub(since.Time) > patience && rec.Attempts >= unservedTries && !now.Time.Before(lands) {
		return p.ended(rec, v1alpha1.TargetRevertConflict, reason, fmt.Sprintf("not undone within %s: %s. %s", patience,
			why, help))
	}
	rec = p.notYet(rec, errors.New(why))
	rec.WaitingTime = since
	return rec
}
