// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/evidence"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/remediate/healthcheck"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// verify verifies one written target on an uncached read. No answer is never a
// pass: an API error means waiting. By rules that aren't the plan's any more only health counts.
func (p *Pass) verify(ctx context.Context, i int, otherRules bool) *rollout.Check {
	ref, rec := p.Records.Target(i).Object, p.Records.Record(i)
	obj, err := p.Targets.Read(ctx, ref)
	if fix.Removes(rec.Write) {
		return p.checkRemoval(ctx, i, obj, err, otherRules)
	}
	switch {
	case kube.Classify(err) == kube.Gone:
		return &rollout.Check{Result: rollout.CheckGone, Reason: v1alpha1.ReasonVanished,
			Message: "the object was deleted after its write was sent"}
	case err != nil:
		return &rollout.Check{Result: rollout.CheckWaiting, Reason: v1alpha1.ReasonUnobserved,
			Message: "the object couldn't be read: " + err.Error()}
	case rec.Write == nil || string(obj.GetUID()) != ref.UID || obj.GetDeletionTimestamp() != nil:
		return &rollout.Check{Result: rollout.CheckGone, Reason: v1alpha1.ReasonVanished,
			Message: "the object was deleted or replaced after its write was sent"}
	}
	if c := fix.CheckBeyond(*rec); c != nil {
		return c
	}
	if !otherRules {
		if c := p.checkVerdicts(ctx, obj, rec); c != nil {
			return c
		}
	}
	if c := p.checkCreated(ctx, rec); c != nil {
		return c
	}
	c := healthcheck.Check(p.Remediation.Spec.Plan.Rollout, obj, kube.ParseHealth(rec.Write.HealthBefore))
	return healthcheck.CheckNewPods(p.Remediation.Spec.Plan.Rollout, obj, rec, c)
}

// checkVerdicts judges the object again, and those that rules judge by it.
func (p *Pass) checkVerdicts(ctx context.Context, obj *unstructured.Unstructured,
	rec *v1alpha1.TargetRecord) *rollout.Check {
	if c := p.lookedUp(ctx, obj, rec); c != nil {
		return c
	}
	if c := p.checkPolicy(ctx, obj); c != nil {
		return setBackBy(c, obj, rec.Write)
	}
	return p.checkNeighbours(ctx, obj, rec, func(ctx context.Context, policies []string) error {
		return p.writesShown(ctx, policies, obj, rec)
	})
}

// checkPolicy judges the object again.
func (p *Pass) checkPolicy(ctx context.Context, obj *unstructured.Unstructured) *rollout.Check {
	result, matched, err := p.Targets.Judge(ctx, p.Snapshot, p.Remediation.Spec.Plan.Policy.Name, obj)
	switch {
	case err != nil:
		return &rollout.Check{Result: rollout.CheckWaiting, Reason: v1alpha1.ReasonUnobserved,
			Message: "the namespace couldn't be read: " + err.Error()}
	case !matched:
		return nil
	case policy.LookupUnknown(result.Err):
		return unobserved("what the policy looks up isn't known: %v", result.Err)
	case result.Err != nil:
		return &rollout.Check{Result: rollout.CheckWaiting, Reason: "",
			Message: "the policy couldn't be evaluated: " + result.Err.Error()}
	case len(result.Enforced()) > 0:
		return &rollout.Check{Result: rollout.CheckFailed, Reason: v1alpha1.ReasonStillViolating,
			Message: "the object violates again: " + result.Violations[0].Message}
	}
	return nil
}

// setBackBy tells an object that violates again because somebody else set our
// fields back from one that our write didn't fix.
func setBackBy(c *rollout.Check, obj *unstructured.Unstructured, write *v1alpha1.WriteRecord) *rollout.Check {
	if c.Result != rollout.CheckFailed || write.Action.Creates() {
		return c
	}
	s, err := fix.SideOf(obj, write)
	if err != nil || s == fix.SideAfter {
		return c
	}
	message := kube.OtherManager(obj, v1alpha1.FieldManager) + " " + evidence.SetBack(write, obj)
	return &rollout.Check{Result: rollout.CheckSetBack, Reason: v1alpha1.ReasonFighting, Message: message}
}

// CheckAll verifies the wave's written targets. While verifying, those that are
// verified already are left to the soak, which looks at all of them; a wave that
// is held for its metrics is looked at as in a soak.
func (p *Pass) CheckAll(ctx context.Context, o *rollout.Observation) {
	m := o.Members(o.Status.Wave)
	list := m.Applied
	if o.Status.Phase != v1alpha1.PhaseVerifying {
		list = append(list, m.Verified...)
	}
	p.checking = list
	otherRules := p.otherRules()
	p.InParallel(len(list), func(n int) { o.Targets[list[n]].Check = p.verify(ctx, list[n], otherRules) })
}

// otherRules says that the plan's policy isn't there any more, or has other rules: they have nothing to say of this
// plan's writes. Whatever else stops the plan, the rules by which it wrote tell whether its writes are well.
func (p *Pass) otherRules() bool {
	planned := p.Remediation.Spec.Plan.Policy
	current := p.InForce.Definition(planned.Name)
	revision, _ := p.InForce.Revision(planned.Name)
	return current == nil || string(current.UID) != planned.UID || revision != planned.Revision
}

// CheckRecovered looks at an object whose write was undone: it must be as well as
// it was before the write. No answer is never a yes.
func (p *Pass) CheckRecovered(ctx context.Context, i int) *rollout.Check {
	rec := p.Records.Record(i)
	obj, err := p.Targets.Read(ctx, p.Records.Target(i).Object)
	switch {
	case kube.Classify(err) == kube.Gone, err == nil && obj.GetDeletionTimestamp() != nil, rec.Write == nil:
		return &rollout.Check{Result: rollout.CheckPassed, Reason: "",
			Message: "nothing of it is left that could recover"}
	case err != nil:
		return &rollout.Check{Result: rollout.CheckWaiting, Reason: "",
			Message: "the object couldn't be read: " + err.Error()}
	}
	return healthcheck.AsWellAsBefore(p.Remediation.Spec.Plan.Rollout, obj, kube.ParseHealth(rec.Write.HealthBefore))
}
