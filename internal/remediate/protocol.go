// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"fmt"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/action"
	"evenkeel.dev/evenkeel/internal/remediate/healthcheck"
	"evenkeel.dev/evenkeel/internal/remediate/rollout"
)

// check is one step of the protocol before a write. It returns a record when the
// target's matter is settled for now, and nil to go on.
type check func(context.Context, *attempt) *v1alpha1.TargetRecord

// protocol is what every target passes before its write is recorded, in order.
func protocol() []check {
	return []check{
		readFresh,          // uncached, the same object as planned
		respectReach,       // a namespace or a kind in which nothing is written
		respectOptOut,      // the object or its namespace said no
		judgeAgain,         // clean by now? waived? no fix?
		respectOwnership,   // owned by a controller, managed by a tool
		respectVerbs,       // verbs that the strategy allows
		requireHealth,      // a canary that isn't healthy proves nothing
		requireKnownHealth, // nor does a target whose health nobody can tell
		computeFix,         // applies, changes something, resolves
		requireNewPods,     // Pods run what it changes, else nothing shows whether it does harm
		respectFields,      // fields that the administrator lets fixes set
		passEveryPolicy,    // breaks no other policy
		requirePermissions, // those that only the fix itself tells
		dryRunOnServer,     // the API server and every webhook agree, and change nothing else
		staysInReach,       // nor do they set what the fix may not
		keepSecrets,        // the record holds no value of a Secret
		recordWithinLimit,  // the record fits
	}
}

func readFresh(ctx context.Context, a *attempt) *v1alpha1.TargetRecord {
	obj, err := a.targets.read(ctx, a.target.Object)
	if rec := a.lateRemoval(obj, err); rec != nil {
		return rec
	}
	if err != nil {
		return a.fromError(err)
	}
	if string(obj.GetUID()) != a.target.Object.UID {
		return a.skipped(v1alpha1.ReasonGone,
			"the object was deleted and created again under its name since the plan was made")
	}
	if obj.GetDeletionTimestamp() != nil {
		return a.skipped(v1alpha1.ReasonGone, "the object is being deleted")
	}
	a.object = obj
	if a.namespace, err = a.targets.namespaceOf(ctx, obj); err != nil {
		return a.fromError(err)
	}
	return nil
}

func respectOptOut(_ context.Context, a *attempt) *v1alpha1.TargetRecord {
	if a.object.GetAnnotations()[v1alpha1.AnnotationRemediation] == v1alpha1.RemediationPaused {
		return a.skipped(v1alpha1.ReasonOptOut, "the object has the annotation evenkeel.dev/remediation: paused")
	}
	if a.namespace != nil &&
		a.namespace.GetAnnotations()[v1alpha1.AnnotationRemediation] == v1alpha1.RemediationPaused {
		return a.skipped(v1alpha1.ReasonOptOut, "its namespace has the annotation evenkeel.dev/remediation: paused")
	}
	return nil
}

func judgeAgain(ctx context.Context, a *attempt) *v1alpha1.TargetRecord {
	name := a.plan.Policy.Name
	if revision, _ := a.snapshot.Revision(name); revision != a.plan.Policy.Revision {
		return a.retry("the policy has changed since the plan was made", a.targets.backoff(a.previous.Attempts))
	}
	result, matched := a.snapshot.EvaluateOne(ctx, name, a.request(a.object.Object))
	switch {
	case !matched:
		return a.skipped(v1alpha1.ReasonAlreadyClean, "the policy doesn't concern the object any more")
	case result.Err != nil:
		return a.failed(v1alpha1.ReasonEvaluationError, result.Err.Error())
	case len(result.Violations) == 0:
		if rec := a.lateArrival(); rec != nil {
			return rec
		}
		return a.skipped(v1alpha1.ReasonAlreadyClean, "the object doesn't violate the policy any more")
	case result.Waived != nil:
		return a.skipped(v1alpha1.ReasonWaived, result.Waived.String()+" covers the object: "+result.Waived.Reason)
	case result.FixErr != nil:
		return a.failed(v1alpha1.ReasonEvaluationError, result.FixErr.Error())
	case len(result.Actions) == 0:
		return a.skipped(v1alpha1.ReasonNoFix, "the policy offers no fix for: "+result.Violations[0].Message)
	}
	a.decision = result.Decision
	return nil
}

func respectVerbs(_ context.Context, a *attempt) *v1alpha1.TargetRecord {
	if verb, add, forbidden := action.ForbiddenVerb(a.plan.Strategy.AllowedActions, a.decision.Actions); forbidden {
		return a.failed(v1alpha1.ReasonActionNotAllowed,
			fmt.Sprintf("the fix uses %q: add %s to spec.remediation.allowedActions", verb, add))
	}
	return nil
}

func requireHealth(_ context.Context, a *attempt) *v1alpha1.TargetRecord {
	if !a.canary || a.plan.Strategy.Mode == v1alpha1.RemediationDryRun {
		return nil
	}
	if action.Remove(a.decision.Actions) {
		return nil // what is to be removed proves nothing by its health; its controller does
	}
	if err := healthcheck.FitCanary(a.plan.Strategy, a.object); err != nil {
		return a.noCanary(v1alpha1.ReasonUnhealthyBefore, err.Error())
	}
	return nil
}

// noCanary passes a target that can't be the canary on to the next wave, where the
// canary's proof covers it. Without one it fails.
func (a *attempt) noCanary(reason, why string) *v1alpha1.TargetRecord {
	next, found := rollout.WaveAfterCanary(a.plan, a.target.Wave)
	if !found {
		return a.failed(reason, "can't be the canary, and its stage has no other wave: "+why)
	}
	rec := a.pending(v1alpha1.ReasonUnhealthyBefore, "can't be the canary: "+why)
	rec.Wave = &next
	return rec
}

func computeFix(ctx context.Context, a *attempt) *v1alpha1.TargetRecord {
	var err error
	if a.steps, a.patched, err = action.Plan(a.object.Object, a.decision.Actions, a.targets.clock.Now()); err != nil {
		return a.failed(v1alpha1.ReasonFixInvalid, err.Error())
	}
	if a.patched == nil {
		return nil // what is gone violates nothing
	}
	changes := len(a.steps) > 0 && a.steps[0].Type == policy.ActionCreate
	if !changes && len(action.Diff(a.object.Object, a.patched))+
		len(action.DiffStatus(a.object.Object, a.patched)) == 0 {
		return a.failed(v1alpha1.ReasonFixChangesNothing, "the fix leaves the object as it is")
	}
	return a.resolves(ctx, a.patched, "after the fix")
}

// resolves judges the object as it would be.
func (a *attempt) resolves(ctx context.Context, object map[string]any, when string) *v1alpha1.TargetRecord {
	result, matched := a.snapshot.EvaluateOne(ctx, a.plan.Policy.Name, a.request(object))
	if matched && result.Err != nil {
		return a.failed(v1alpha1.ReasonEvaluationError, when+": "+result.Err.Error())
	}
	if left := result.Enforced(); matched && len(left) > 0 {
		return a.failed(v1alpha1.ReasonFixIneffective, when+" the object would still violate: "+left[0].Message)
	}
	return nil
}

// passEveryPolicy compares the verdicts of all enforced policies before and
// after: a fix may not bring a violation that wasn't there, unless it is waived,
// nor make an object that violates any.
func passEveryPolicy(ctx context.Context, a *attempt) *v1alpha1.TargetRecord {
	for _, s := range a.steps {
		if s.Type == policy.ActionCreate {
			if rec := a.newViolations(ctx, nil, s.Object, "the object to create"); rec != nil {
				return rec
			}
		}
	}
	if a.patched == nil {
		return nil
	}
	before := map[string]policy.Decision{}
	for _, r := range a.snapshot.Evaluate(ctx, a.request(a.object.Object)) {
		before[r.Policy] = r.Decision
	}
	return a.newViolations(ctx, before, a.patched, "the fixed object")
}

// newViolations fails the target when an object has a violation of an enforced
// policy that it didn't have before.
func (a *attempt) newViolations(ctx context.Context, before map[string]policy.Decision, object map[string]any,
	what string) *v1alpha1.TargetRecord {
	for _, r := range a.snapshot.Evaluate(ctx, a.request(object)) {
		if r.Definition.Spec.Admission.Action == v1alpha1.AdmissionAudit && r.Policy != a.plan.Policy.Name {
			continue
		}
		if r.Err != nil {
			return a.failed(v1alpha1.ReasonEvaluationError,
				fmt.Sprintf("policy %s can't judge %s: %v", r.Policy, what, r.Err))
		}
		if added := policy.NewSince(before[r.Policy].Violations, r.Enforced()); len(added) > 0 {
			return a.failed(v1alpha1.ReasonFixBreaksPolicy,
				fmt.Sprintf("%s would violate policy %s: %s", what, r.Policy, added[0].Message))
		}
	}
	return nil
}

// dryRunOnServer tries every write of the fix, each on the object as it was read.
func dryRunOnServer(ctx context.Context, a *attempt) *v1alpha1.TargetRecord {
	a.writes = nil
	for _, s := range a.steps {
		w := &write{Step: s, object: a.object}
		w.record = v1alpha1.WriteRecord{UID: string(a.object.GetUID()), ResourceVersion: a.object.GetResourceVersion()}
		if verb, known := action.DefinitionOf(s.Type); known {
			w.record.Action = verb.Allowed
		}
		if s.Type == policy.ActionCreate {
			var err error
			if w.object, err = a.manifest(s.Object); kube.Classify(err) == kube.Unserved {
				return a.fromError(err)
			} else if err != nil {
				return a.failed(v1alpha1.ReasonFixInvalid, err.Error())
			}
		}
		if rec := operationOf(s.Type).dryRun(ctx, a, w); rec != nil {
			return rec
		}
		a.writes = append(a.writes, w)
	}
	return nil
}
