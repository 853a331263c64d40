// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"
	"fmt"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/healthcheck"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// Check is one step of the protocol before a write. It returns a record when the
// target's matter is settled for now, and nil to go on.
type Check func(context.Context, *Attempt) *v1alpha1.TargetRecord

// protocol is what every target passes before its write is recorded, in order.
func protocol() []Check {
	return []Check{
		ReadFresh,          // uncached, the same object as planned
		RespectReach,       // a namespace or a kind in which nothing is written
		RespectOptOut,      // the object or its namespace said no
		JudgeAgain,         // clean by now? waived? no fix?
		RespectOwnership,   // owned by a controller, managed by a tool
		RespectAllowed,     // actions that the strategy allows
		RequireHealth,      // a canary that isn't healthy proves nothing
		RequireKnownHealth, // nor does a target whose health nobody can tell
		ComputeFix,         // applies, changes something, resolves
		RequireNewPods,     // Pods run what it changes, else nothing shows whether it does harm
		RespectFields,      // fields that the administrator lets fixes set
		PassEveryPolicy,    // breaks no other policy
		RequirePermissions, // those that only the fix itself tells
		dryRunOnServer,     // the API server and every webhook agree, and change nothing else
		StaysInReach,       // nor do they set what the fix may not
		KeepSecrets,        // the record holds no value of a Secret
		RecordWithinLimit,  // the record fits
		AsApproved,         // it is what a person has approved, where one had to
	}
}

// ReadFresh reads the target and its namespace anew.
func ReadFresh(ctx context.Context, a *Attempt) *v1alpha1.TargetRecord {
	obj, err := a.Targets.Read(ctx, a.Target.Object)
	if rec := a.lateRemoval(obj, err); rec != nil {
		return rec
	}
	if err != nil {
		return a.FromError(err)
	}
	if string(obj.GetUID()) != a.Target.Object.UID {
		return a.Skipped(v1alpha1.ReasonGone,
			"the object was deleted and created again under its name since the plan was made")
	}
	if obj.GetDeletionTimestamp() != nil {
		return a.Skipped(v1alpha1.ReasonGone, "the object is being deleted")
	}
	a.Object = obj
	if a.Namespace, err = a.Targets.NamespaceOf(ctx, obj); err != nil {
		return a.FromError(err)
	}
	return nil
}

// RespectOptOut leaves a target alone whose owner has said so.
func RespectOptOut(_ context.Context, a *Attempt) *v1alpha1.TargetRecord {
	now := a.Targets.Clock.Now()
	if v1alpha1.OptsOut(a.Object, now) {
		return a.Skipped(v1alpha1.ReasonOptOut, "the object has "+v1alpha1.OptOutText(a.Object))
	}
	if a.Namespace != nil && v1alpha1.OptsOut(a.Namespace, now) {
		return a.Skipped(v1alpha1.ReasonOptOut, "its namespace has "+v1alpha1.OptOutText(a.Namespace))
	}
	return nil
}

// JudgeAgain asks the plan's policy whether the target still violates it.
func JudgeAgain(ctx context.Context, a *Attempt) *v1alpha1.TargetRecord {
	name := a.Plan.Policy.Name
	if revision, _ := a.Snapshot.Revision(name); revision != a.Plan.Policy.Revision {
		return a.Retry("the policy has changed since the plan was made", a.Targets.Backoff(a.Previous.Attempts))
	}
	result, matched := a.Snapshot.EvaluateOne(ctx, name, a.request(a.Object.Object))
	switch {
	case !matched:
		return a.Skipped(v1alpha1.ReasonAlreadyClean, "the policy doesn't concern the object any more")
	case result.Err != nil:
		return a.unjudged(result.Err, result.Err.Error())
	case len(result.Violations) == 0:
		if rec := a.lateArrival(); rec != nil {
			return rec
		}
		return a.Skipped(v1alpha1.ReasonAlreadyClean, "the object doesn't violate the policy any more")
	case result.Waived != nil:
		return a.Skipped(v1alpha1.ReasonWaived, result.Waived.String()+" covers the object: "+result.Waived.Reason)
	case result.FixErr != nil:
		return a.Failed(v1alpha1.ReasonEvaluationError, result.FixErr.Error())
	case len(result.Actions) == 0:
		return a.Skipped(v1alpha1.ReasonNoFix, "the policy offers no fix for: "+result.Violations[0].Message)
	}
	a.decision = result.Decision
	return nil
}

// RespectAllowed refuses a fix by an action that the strategy doesn't allow.
func RespectAllowed(_ context.Context, a *Attempt) *v1alpha1.TargetRecord {
	if used, add, forbidden := action.Forbidden(a.Plan.Rollout.AllowedActions, a.decision.Actions); forbidden {
		return a.Failed(v1alpha1.ReasonNotAllowed,
			fmt.Sprintf("the fix uses %q: add %s to spec.remediation.allowedActions", used, add))
	}
	return nil
}

// RequireHealth puts off a canary that isn't well before its write: it could prove nothing.
func RequireHealth(_ context.Context, a *Attempt) *v1alpha1.TargetRecord {
	if !a.Canary || a.Plan.Rollout.Mode == v1alpha1.RemediationDryRun {
		return nil
	}
	if action.Remove(a.decision.Actions) {
		return nil // what is to be removed proves nothing by its health; its controller does
	}
	if err := healthcheck.FitCanary(a.Plan.Rollout, a.Object); err != nil {
		return a.noCanary(v1alpha1.ReasonUnhealthyBefore, err.Error())
	}
	return nil
}

// noCanary passes a target that can't be the canary on to the next wave, where the
// canary's proof covers it. Without one it fails.
func (a *Attempt) noCanary(reason, why string) *v1alpha1.TargetRecord {
	next, found := rollout.WaveAfterCanary(a.Plan, a.Target.Wave)
	if !found {
		return a.Failed(reason, "can't be the canary, and its stage has no other wave: "+why)
	}
	rec := a.Pending(v1alpha1.ReasonUnhealthyBefore, "can't be the canary: "+why)
	rec.Wave = &next
	return rec
}

// ComputeFix makes of what the policy proposes the steps of a fix, and what they make of
// the target.
func ComputeFix(ctx context.Context, a *Attempt) *v1alpha1.TargetRecord {
	var err error
	if a.Steps, a.Patched, err = action.Steps(a.Object.Object, a.decision.Actions, a.Targets.Clock.Now()); err != nil {
		return a.Failed(v1alpha1.ReasonFixInvalid, err.Error())
	}
	if a.Patched == nil {
		return nil // what is gone violates nothing
	}
	if action.SetsMark(a.Object.Object, a.Patched, a.Steps) {
		return a.Failed(v1alpha1.ReasonFixInvalid,
			"the fix sets "+v1alpha1.AnnotationLastRemediation+", which only the manager does")
	}
	if len(a.manifests()) == 0 && len(action.Diff(a.Object.Object, a.Patched))+
		len(action.DiffStatus(a.Object.Object, a.Patched)) == 0 {
		return a.Failed(v1alpha1.ReasonFixIneffective, "the fix leaves the object as it is")
	}
	return a.Resolves(ctx, a.Patched, "after the fix")
}

// Resolves judges the object as it would be, and what rules look up as it would be.
func (a *Attempt) Resolves(ctx context.Context, object map[string]any, when string) *v1alpha1.TargetRecord {
	result, matched := a.Snapshot.EvaluateOne(ctx, a.Plan.Policy.Name, a.afterwards(object))
	if matched && result.Err != nil {
		return a.unjudged(result.Err, when+": "+result.Err.Error())
	}
	if left := result.Enforced(); matched && len(left) > 0 {
		return a.Failed(v1alpha1.ReasonFixIneffective, when+" the object would still violate: "+left[0].Message)
	}
	return nil
}

// PassEveryPolicy compares the verdicts of all enforced policies before and
// after: a fix may not bring a violation that wasn't there, unless it is waived,
// nor make an object that violates any.
func PassEveryPolicy(ctx context.Context, a *Attempt) *v1alpha1.TargetRecord {
	for _, made := range a.manifests() {
		if rec := a.newViolations(ctx, nil, made.Object, "the object to create"); rec != nil {
			return rec
		}
	}
	if a.Patched == nil {
		return nil
	}
	before := map[string]policy.Decision{}
	for _, r := range a.Snapshot.Evaluate(ctx, a.request(a.Object.Object)) {
		before[r.Policy] = r.Decision
	}
	if rec := a.newViolations(ctx, before, a.Patched, "the fixed object"); rec != nil {
		return rec
	}
	a.judgeMarked(ctx, before)
	return nil
}

// newViolations fails the target when an object has a violation of an enforced
// policy that it didn't have before. It waits while that isn't known.
func (a *Attempt) newViolations(ctx context.Context, before map[string]policy.Decision, object map[string]any,
	what string) *v1alpha1.TargetRecord {
	for _, r := range a.Snapshot.Evaluate(ctx, a.afterwards(object)) {
		if r.Definition.Spec.Admission.Action == v1alpha1.AdmissionAudit && r.Policy != a.Plan.Policy.Name {
			continue
		}
		if r.Err != nil {
			return a.unjudged(r.Err, fmt.Sprintf("policy %s can't judge %s: %v", r.Policy, what, r.Err))
		}
		if was := before[r.Policy].Err; policy.LookupUnknown(was) { // it is known again, but what is new isn't
			return a.unjudged(was, fmt.Sprintf("policy %s couldn't judge the object as it is: %v", r.Policy, was))
		}
		if added := policy.NewSince(before[r.Policy].Violations, r.Enforced()); len(added) > 0 {
			return a.Failed(v1alpha1.ReasonFixBreaksPolicy,
				fmt.Sprintf("%s would violate policy %s: %s", what, r.Policy, added[0].Message))
		}
	}
	return nil
}

// dryRunOnServer tries every write of the fix, each on the object as it was read.
func dryRunOnServer(ctx context.Context, a *Attempt) *v1alpha1.TargetRecord {
	a.Writes = nil
	made := a.manifests()
	for _, s := range a.Steps {
		w := &Write{Step: s, Base: a.Object}
		w.Record = v1alpha1.WriteRecord{Action: s.Type, UID: string(a.Object.GetUID()),
			ResourceVersion: a.Object.GetResourceVersion()}
		if s.Type.Creates() {
			w.Base, made = made[0], made[1:]
			if err := a.fitsScope(w.Base); kube.Classify(err) == kube.Unserved {
				return a.FromError(err)
			} else if err != nil {
				return a.Failed(v1alpha1.ReasonFixInvalid, err.Error())
			}
		}
		if rec := OperationOf(s.Type).dryRun(ctx, a, w); rec != nil {
			return rec
		}
		a.Writes = append(a.Writes, w)
	}
	return nil
}
