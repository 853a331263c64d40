// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"cmp"
	"context"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/preview"
	"evenkeel.dev/evenkeel/internal/prose"
)

// proposed is the part of the protocol that tells what a write would be. Whether an object
// is healthy enough now is asked when it is to be written, and not when it is approved.
func proposed() []Check {
	return []Check{ReadFresh, RespectReach, RespectOptOut, JudgeAgain, RespectOwnership, RespectAllowed, ComputeFix,
		RequireNewPods, RespectFields, PassEveryPolicy, RequirePermissions, dryRunOnServer, StaysInReach, KeepSecrets}
}

// Propose tells what the plan would do to the target, for whoever is to approve it, and
// writes nothing. It returns a record when that can't be known yet: then it is tried again.
func (a *Attempt) Propose(ctx context.Context) (preview.Change, *v1alpha1.TargetRecord) {
	a.Canary = false
	for _, step := range proposed() {
		rec := step(ctx, a)
		switch {
		case rec == nil:
		case rec.Reason == v1alpha1.ReasonDisruptionBudget && rec.State == v1alpha1.TargetPending:
			return a.Change() // what would be evicted is known, though it may not be just now
		case rec.Reason == v1alpha1.ReasonMissingPermissions && rec.State == v1alpha1.TargetPending:
			// One target that may not be written keeps nobody from approving the others.
			return preview.Change{Why: told(rec.Reason, rec.Message)}, nil
		case rec.State == v1alpha1.TargetPending:
			return preview.Change{}, rec
		default:
			return preview.Change{Why: told(rec.Reason, rec.Message)}, nil
		}
	}
	return a.Change()
}

// alikeLength is as much of a digest as tells the changes of a plan apart that are shown.
const alikeLength = 16

// Change is what the attempt's writes come to. It returns a record when that can't be told.
func (a *Attempt) Change() (preview.Change, *v1alpha1.TargetRecord) {
	changes := make([]action.Change, len(a.Steps))
	for i, step := range a.Steps {
		changes[i].Step = step
		if step.Type.Removes() {
			changes[i].Removed = a.Object.Object
		}
		if i < len(a.Writes) {
			changes[i].Fields, changes[i].Keys = a.Writes[i].Fields, a.Writes[i].Keys
		}
	}
	ref := a.Target.Object
	digest, alike, err := action.DigestOf(ref.APIVersion, ref.Kind, changes)
	if err != nil {
		return preview.Change{}, a.Failed(v1alpha1.ReasonFixInvalid, err.Error())
	}
	values := kube.ReadByView(ref.APIVersion, ref.Kind, ref.Namespace)
	return preview.Change{Digest: preview.DigestPrefix + digest, Alike: alike[:alikeLength],
		Text: action.Tell(changes, values, policy.SecretsOf(a.Object.Object, a.Patched))}, nil
}

// AsApproved leaves a target alone whose fix isn't the one that was approved. A plan that
// nobody had to approve, or that was approved before its changes were told, isn't bound.
func AsApproved(_ context.Context, a *Attempt) *v1alpha1.TargetRecord {
	approved, bound := preview.ParseChange(a.Previous.Proposal)
	if !bound {
		return nil
	}
	now, rec := a.Change()
	if rec != nil || now.Digest == approved.Digest {
		return rec
	}
	was := "nothing was to be written (" + approved.Why + ")"
	if approved.Digest != "" {
		was = preview.Short(approved.Digest) + " was approved"
	}
	return a.Skipped(v1alpha1.ReasonChangedSinceApproval, "the fix isn't the one that was approved, for the object "+
		"has changed: "+was+", and now it would be: "+strings.ReplaceAll(strings.TrimSpace(now.Text), "\n", "; ")+
		". The next plan asks again")
}

// told is a record's reason with its message, on one line.
func told(reason, message string) string {
	return prose.Shorten(prose.OneLine(cmp.Or(reason, "Unknown")+": "+message), 512)
}
