// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// stepEnded leaves an ended plan as it is, unless a person wants it undone and
// something of it stands. No breaker, window, pause or policy is asked: what
// people take for harm must always be undoable.
func stepEnded(o Observation) Intent {
	if !o.Spec.WantsUndone() || !slices.ContainsFunc(o.Targets, o.undoes) {
		return Intent{Phase: o.Status.Phase, Wave: o.Status.Wave, Reason: o.Status.Reason, Message: o.Status.Message,
			Wait: holdPoll}
	}
	return Intent{Phase: v1alpha1.PhaseRollingBack, Wave: o.Status.Wave, Reason: v1alpha1.ReasonUndone,
		Message: o.Abort + "; " + o.undoing()}
}
