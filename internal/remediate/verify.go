package remediate

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/remediate/rollout"
)

// check verifies one written target on an uncached read. No answer is never a
// pass: an API error means waiting.
func (p *pass) check(ctx context.Context, i int, stopped bool) *rollout.Check {
	ref, rec := p.records.Target(i).Object, p.records.Record(i)
	obj, err := p.targets.read(ctx, ref)
	if removes(rec.Write) {
		return p.checkRemoved(ctx, rec.Write, obj, err, stopped)
	}
	switch {
	case kube.Classify(err) == kube.Gone:
		return &rollout.Check{Result: rollout.CheckGone, Reason: v1alpha1.ReasonVanished, Message: "the object was deleted after its write was sent"}
	case err != nil:
		return &rollout.Check{Result: rollout.CheckWaiting, Reason: v1alpha1.ReasonUnobserved, Message: "the object couldn't be read: " + err.Error()}
	case rec.Write == nil || string(obj.GetUID()) != ref.UID || obj.GetDeletionTimestamp() != nil:
		return &rollout.Check{Result: rollout.CheckGone, Reason: v1alpha1.ReasonVanished, Message: "the object was deleted or replaced after its write was sent"}
	}
	if c := checkBeyond(*rec); c != nil {
		return c
	}
	if !stopped {
		if c := p.checkPolicy(ctx, obj); c != nil {
			return setBackBy(c, obj, rec.Write)
		}
	}
	if c := p.checkCreated(ctx, rec); c != nil {
		return c
	}
	c := checkHealth(p.rem.Spec.Plan.Strategy, obj, kube.ParseHealth(rec.Write.HealthBefore))
	return checkNewPods(p.rem.Spec.Plan.Strategy, obj, rec, c)
}

// checkPolicy judges the object again. A changed policy has nothing to say of
// this plan's writes: then only health counts.
func (p *pass) checkPolicy(ctx context.Context, obj *unstructured.Unstructured) *rollout.Check {
	namespace, err := p.targets.namespaceOf(ctx, obj)
	if err != nil {
		return &rollout.Check{Result: rollout.CheckWaiting, Reason: v1alpha1.ReasonUnobserved, Message: "the namespace couldn't be read: " + err.Error()}
	}
	result, matched := p.snapshot.EvaluateOne(ctx, p.rem.Spec.Plan.Policy.Name, p.targets.audit(obj.Object, namespace))
	switch {
	case !matched:
		return nil
	case result.Err != nil:
		return &rollout.Check{Result: rollout.CheckWaiting, Reason: "", Message: "the policy couldn't be evaluated: " + result.Err.Error()}
	case len(result.Enforced()) > 0:
		return &rollout.Check{Result: rollout.CheckFailed, Reason: v1alpha1.ReasonStillViolating, Message: "the object violates again: " + result.Violations[0].Message}
	}
	return nil
}

// setBackBy tells an object that violates again because somebody else set our
// fields back from one that our write didn't mend.
func setBackBy(c *rollout.Check, obj *unstructured.Unstructured, write *v1alpha1.WriteRecord) *rollout.Check {
	if c.Result != rollout.CheckFailed || write.Verb == v1alpha1.ActionCreate {
		return c
	}
	s, err := sideOf(obj, write)
	if err != nil || s == sideAfter {
		return c
	}
	message := fmt.Sprintf("%s set the mended fields back: mend the source that it takes the object from",
		kube.OtherManager(obj, v1alpha1.FieldManager))
	if s != sideBefore {
		message += "; some of the fix's fields still hold our values, as the record tells"
	}
	return &rollout.Check{Result: rollout.CheckSetBack, Reason: v1alpha1.ReasonFighting, Message: message}
}

// checkHealth compares health with what it was before: an object that was well, or on
// its way, must be well; one that had failed must at least be no worse, once its
// controller has seen the change. One whose health nobody could tell before passes by
// the word of the strategy or its metrics; where the health was told, it must be again.
func checkHealth(s v1alpha1.RolloutStrategy, obj *unstructured.Unstructured, before kube.Health) *rollout.Check {
	health, message, err := healthOf(s, obj)
	switch {
	case err != nil:
		return &rollout.Check{Result: rollout.CheckWaiting, Reason: "", Message: err.Error()}
	case health == kube.Current:
		return &rollout.Check{Result: rollout.CheckPassed, Reason: "", Message: "clean and healthy"}
	case health == kube.Failed && before != kube.Failed:
		return &rollout.Check{Result: rollout.CheckFailed, Reason: v1alpha1.ReasonUnhealthy, Message: "its health got worse: " + message}
	case health == kube.Unknown || before == kube.Unknown:
		return unknownCheck(s, health, before, message)
	case health == kube.InProgress && before == kube.InProgress:
		return &rollout.Check{Result: rollout.CheckWaiting, Reason: v1alpha1.ReasonUnhealthyBefore, Message: fmt.Sprintf(
			"%s: %s; so it was before the write, which proves nothing of the fix", health, message)}
	case health <= before && observed(obj):
		return &rollout.Check{Result: rollout.CheckPassed, Reason: "", Message: fmt.Sprintf("clean, and no less healthy than before (%s)", before)}
	default:
		return &rollout.Check{Result: rollout.CheckWaiting, Reason: "", Message: fmt.Sprintf("%s: %s", health, message)}
	}
}

// asWellAsBefore says whether an object whose write was undone is as well as it was
// before it.
func asWellAsBefore(s v1alpha1.RolloutStrategy, obj *unstructured.Unstructured, before kube.Health) *rollout.Check {
	c := checkHealth(s, obj, before)
	if c.Result == rollout.CheckWaiting && c.Reason == v1alpha1.ReasonUnhealthyBefore && observed(obj) {
		return &rollout.Check{Result: rollout.CheckPassed, Reason: "", Message: fmt.Sprintf("as well as before (%s)", before)}
	}
	return c
}

// unknownCheck judges an object whose health couldn't be told before its write, or
// can't be now.
func unknownCheck(s v1alpha1.RolloutStrategy, health, before kube.Health, message string) *rollout.Check {
	if covered := unknownCovered(s); health == kube.Unknown && before == kube.Unknown && covered != "" {
		return &rollout.Check{Result: rollout.CheckPassed, Reason: "", Message: "clean; nobody can tell its health: " + covered}
	}
	return &rollout.Check{Result: rollout.CheckWaiting, Reason: "", Message: fmt.Sprintf("%s: %s", health, message)}
}

// observed says whether the object's controller has seen its latest generation.
func observed(obj *unstructured.Unstructured) bool {
	seen, found, err := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
	return err == nil && (!found || seen >= obj.GetGeneration())
}

// checkAll verifies the wave's written targets. While verifying, those that are
// verified already are left to the soak, which looks at all of them; a wave that
// is held for its metrics is looked at as in a soak.
func (p *pass) checkAll(ctx context.Context, o *rollout.Observation) {
	m := o.Members(o.Status.Wave)
	list := m.Applied
	if o.Status.Phase != v1alpha1.PhaseVerifying {
		list = append(list, m.Verified...)
	}
	p.inParallel(len(list), func(n int) { o.Targets[list[n]].Check = p.check(ctx, list[n], o.Stop != "") })
}
