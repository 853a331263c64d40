package remediate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/action"
)

// check is one step of the protocol before a write. It returns a record when the
// target's matter is settled for now, and nil to go on.
type check func(context.Context, *attempt) *v1alpha1.TargetRecord

// protocol is what every target passes before its write is recorded, in order.
func protocol() []check {
	return []check{
		readFresh,         // uncached, the same object as planned
		respectOptOut,     // the object or its namespace said no
		judgeAgain,        // clean by now? waived? no fix?
		respectOwnership,  // owned by a controller, managed by a tool
		respectVerbs,      // verbs that the strategy allows
		requireHealth,     // a canary that isn't healthy proves nothing
		computeFix,        // applies, changes something, cures
		passEveryPolicy,   // breaks no other policy
		dryRunOnServer,    // the API server and every webhook agree
		keepSecrets,       // the record holds no value of a Secret
		recordWithinLimit, // the record fits
	}
}

func readFresh(ctx context.Context, a *attempt) *v1alpha1.TargetRecord {
	obj, err := a.targets.read(ctx, a.target.Object)
	if err != nil {
		return a.fromError(err)
	}
	if string(obj.GetUID()) != a.target.Object.UID {
		return a.skipped(v1alpha1.ReasonGone, "the object was deleted and created again under its name since the plan was made")
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
	if a.namespace != nil && a.namespace.GetAnnotations()[v1alpha1.AnnotationRemediation] == v1alpha1.RemediationPaused {
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
		return a.skipped(v1alpha1.ReasonWaived, "PolicyException "+result.Waived.String()+" covers the object: "+result.Waived.Reason)
	case len(result.Actions) == 0:
		return a.skipped(v1alpha1.ReasonNoFix, "the policy offers no fix for: "+result.Violations[0].Message)
	}
	a.decision = result.Decision
	return nil
}

// lateArrival recognizes an earlier recorded write of this plan that reached the
// object only after it had been given up for lost: it is ours, and must be
// verified like any other.
func (a *attempt) lateArrival() *v1alpha1.TargetRecord {
	write := a.previous.Write
	if write == nil || write.UID != string(a.object.GetUID()) {
		return nil
	}
	fields, err := action.FromRecordFields(write.Fields)
	if err != nil {
		return nil
	}
	digest, err := action.DigestAfter(action.Observe(a.object.Object, fields))
	if err != nil || digest != write.DigestAfter {
		return nil
	}
	rec := appliedRecord(a.previous, a.object, fields, a.targets.clock.Now())
	return &rec
}

func respectVerbs(_ context.Context, a *attempt) *v1alpha1.TargetRecord {
	for _, act := range a.decision.Actions {
		if !allowed(a.plan.Strategy.AllowedActions, act.Type) {
			return a.failed(v1alpha1.ReasonActionNotAllowed, fmt.Sprintf("the fix uses %q: add it to spec.remediation.allowedActions", act.Type))
		}
	}
	return nil
}

func requireHealth(_ context.Context, a *attempt) *v1alpha1.TargetRecord {
	if !a.canary || a.plan.Strategy.Mode == v1alpha1.RemediationDryRun {
		return nil
	}
	if err := healthyCanary(a.object); err != nil {
		// The target goes to the next wave, where the canary's proof covers it.
		rec := a.pending(v1alpha1.ReasonUnhealthyBefore, "can't be the canary: "+err.Error())
		next := int32(1)
		rec.Wave = &next
		return rec
	}
	return nil
}

func computeFix(ctx context.Context, a *attempt) *v1alpha1.TargetRecord {
	patched, err := action.Apply(a.object.Object, a.decision.Actions)
	if err != nil {
		return a.failed(v1alpha1.ReasonFixInvalid, err.Error())
	}
	if len(action.Diff(a.object.Object, patched)) == 0 {
		return a.failed(v1alpha1.ReasonFixChangesNothing, "the fix leaves the object as it is")
	}
	result, matched := a.snapshot.EvaluateOne(ctx, a.plan.Policy.Name, a.request(patched))
	if matched && result.Err != nil {
		return a.failed(v1alpha1.ReasonEvaluationError, "after the fix: "+result.Err.Error())
	}
	if left := result.Enforced(); matched && len(left) > 0 {
		return a.failed(v1alpha1.ReasonFixDoesNotCure, "after the fix the object would still violate: "+left[0].Message)
	}
	a.patched = patched
	return nil
}

// passEveryPolicy compares the verdicts of all enforced policies before and
// after: a fix may not bring a violation that wasn't there, unless it is waived.
func passEveryPolicy(ctx context.Context, a *attempt) *v1alpha1.TargetRecord {
	before := map[string]policy.Decision{}
	for _, r := range a.snapshot.Evaluate(ctx, a.request(a.object.Object)) {
		before[r.Policy] = r.Decision
	}
	for _, r := range a.snapshot.Evaluate(ctx, a.request(a.patched)) {
		if r.Definition.Spec.EnforcementAction == v1alpha1.EnforcementDryRun && r.Policy != a.plan.Policy.Name {
			continue
		}
		if r.Err != nil {
			return a.failed(v1alpha1.ReasonEvaluationError, fmt.Sprintf("policy %s can't judge the fixed object: %v", r.Policy, r.Err))
		}
		if added := policy.NewSince(before[r.Policy].Violations, r.Enforced()); len(added) > 0 {
			return a.failed(v1alpha1.ReasonFixBreaksPolicy, fmt.Sprintf("the fixed object would violate policy %s: %s", r.Policy, added[0].Message))
		}
	}
	return nil
}

func dryRunOnServer(ctx context.Context, a *attempt) *v1alpha1.TargetRecord {
	ops := action.Ops(a.decision.Actions)
	result, err := a.targets.patch(ctx, a.object, append(action.Exact(a.object.Object), ops...), client.DryRunAll)
	if err != nil {
		return a.fromError(err)
	}
	a.fields = action.Diff(a.object.Object, result.Object)
	a.keys = action.Keys(a.object.Object, a.fields)
	if len(a.fields) == 0 {
		return a.failed(v1alpha1.ReasonFixChangesNothing, "the API server would store the object unchanged")
	}
	return nil
}

func recordWithinLimit(_ context.Context, a *attempt) *v1alpha1.TargetRecord {
	raw, err := json.Marshal(a.fields)
	if err != nil {
		return a.failed(v1alpha1.ReasonFixInvalid, err.Error())
	}
	ops := action.Ops(a.decision.Actions)
	if len(raw) > maxRecordBytes || max(len(a.fields), len(a.keys), len(ops)) > maxRecordItems || longestPath(a.fields, a.keys, ops) > maxPathBytes {
		return a.failed(v1alpha1.ReasonFixTooLarge, fmt.Sprintf("the fix has %d operations on %d fields, %d bytes; the limits are %d, %d and %d, and paths of %d bytes",
			len(ops), len(a.fields), len(raw), maxRecordItems, maxRecordItems, maxRecordBytes, maxPathBytes))
	}
	return nil
}

// longestPath is the length of the longest path, in bytes.
func longestPath(fields []action.Field, lists ...[]policy.PatchOp) int {
	longest := 0
	for _, f := range fields {
		longest = max(longest, len(f.Path))
	}
	for _, ops := range lists {
		for _, op := range ops {
			longest = max(longest, len(op.Path), len(op.From))
		}
	}
	return longest
}

func allowed(actions []v1alpha1.ActionType, verb policy.ActionType) bool {
	return slices.ContainsFunc(actions, func(a v1alpha1.ActionType) bool { return strings.EqualFold(string(a), string(verb)) })
}

// healthyCanary says why an object can't prove anything as a canary.
func healthyCanary(obj *unstructured.Unstructured) error {
	health, message, err := kube.HealthOf(obj)
	if err != nil {
		return err
	}
	if health != kube.Current {
		return fmt.Errorf("it is %s: %s", health, message)
	}
	if proves, why := kube.ProvesHealth(obj); !proves {
		return fmt.Errorf("%s", why)
	}
	return nil
}
