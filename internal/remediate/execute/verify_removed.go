// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/remediate/healthcheck"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// checkRemoval verifies a removal, that the policy finds no more what was removed, and that a deletion, which can be
// undone, brings no violation to another object.
func (p *Pass) checkRemoval(ctx context.Context, i int, obj *unstructured.Unstructured, err error,
	otherRules bool) *rollout.Check {
	rec := p.Records.Record(i)
	c := p.checkRemoved(ctx, rec.Write, obj, err, otherRules)
	if c.Result != rollout.CheckPassed || otherRules {
		return c
	}
	shown := func(ctx context.Context, policies []string) error {
		return p.removalShown(ctx, policies, p.Records.Target(i).Object, obj, err)
	}
	if p.looksUp() {
		if behind := shown(ctx, []string{p.policyName()}); behind != nil {
			return unobserved("what the policy looks up isn't as new as the removal: %v", behind)
		}
	}
	if rec.Write.Action != v1alpha1.ActionDelete || rec.Write.Manifest == nil {
		return c
	}
	deleted, unreadable := fix.ManifestOf(rec.Write)
	if unreadable != nil {
		return unobserved("what the deletion brings to others can't be determined: %v", unreadable)
	}
	if broken := p.checkNeighbours(ctx, deleted, rec, shown); broken != nil {
		return broken
	}
	return c
}

// removalShown waits a moment until some policies find what was removed no more, or find what is there under its name
// by now as it is: obj, or an error that nothing is.
func (p *Pass) removalShown(ctx context.Context, policies []string, ref v1alpha1.ObjectReference,
	obj *unstructured.Unstructured, err error) error {
	return p.until(ctx, func() error {
		return each(policies, func(name string) error {
			if err != nil {
				return p.lacks(name, []v1alpha1.ObjectReference{ref})
			}
			return p.Snapshot.Shows(name, obj)
		})
	})
}

// leftOf is what is there under the name of a removed object; nil for nothing. The error is that it is that object
// itself, which isn't gone yet, or that nobody knows.
func (p *Pass) leftOf(ctx context.Context, ref v1alpha1.ObjectReference) (*unstructured.Unstructured, error) {
	obj, err := p.Targets.Read(ctx, ref)
	switch {
	case kube.Classify(err) == kube.Gone:
		return nil, nil
	case err != nil:
		return nil, err
	case string(obj.GetUID()) == ref.UID && obj.GetDeletionTimestamp() != nil:
		return nil, fmt.Errorf("%s: %s", ref.String(), stillThere(obj))
	}
	return obj, nil
}

// checkRemoved verifies a removal by itself: the object that was removed is gone, nobody has
// made the same violation again under its name, and of an evicted Pod neither what its
// controller has made in its place violates, nor is the controller unwell.
func (p *Pass) checkRemoved(ctx context.Context, write *v1alpha1.WriteRecord, obj *unstructured.Unstructured, err error,
	otherRules bool) *rollout.Check {
	switch {
	case kube.Classify(err) == kube.Gone:
	case err != nil:
		return &rollout.Check{Result: rollout.CheckWaiting, Reason: v1alpha1.ReasonUnobserved,
			Message: "whether the object is gone couldn't be read: " + err.Error()}
	case string(obj.GetUID()) == write.UID:
		return &rollout.Check{Result: rollout.CheckWaiting, Reason: "", Message: stillThere(obj)}
	case write.Action == v1alpha1.ActionDelete && !otherRules:
		if c := p.checkPolicy(ctx, obj); c != nil && c.Result == rollout.CheckFailed {
			return &rollout.Check{Result: rollout.CheckSetBack, Reason: v1alpha1.ReasonFighting, Message: fmt.Sprintf(
				"it was created again by %s, and violates as before: fix the source that it comes from",
				kube.OtherManager(obj, v1alpha1.FieldManager))}
		} else if c != nil {
			return c
		}
	}
	if write.Controller == nil {
		return &rollout.Check{Result: rollout.CheckPassed, Reason: "", Message: "the object is gone"}
	}
	return p.checkController(ctx, write, otherRules)
}

func stillThere(obj *unstructured.Unstructured) string {
	if finalizers := obj.GetFinalizers(); len(finalizers) > 0 {
		return "the object waits for its finalizers: " + strings.Join(finalizers, ", ")
	}
	return "the object is still there"
}

// checkController compares the health of an evicted Pod's controller with what it
// was before, and judges what it has made since. One that is gone has nothing left to be
// worse.
func (p *Pass) checkController(ctx context.Context, write *v1alpha1.WriteRecord, otherRules bool) *rollout.Check {
	controller, err := p.Targets.Read(ctx, *write.Controller)
	switch {
	case kube.Classify(err) == kube.Gone:
		return &rollout.Check{Result: rollout.CheckPassed, Reason: "",
			Message: "the Pod is gone, and its controller too"}
	case err != nil:
		return &rollout.Check{Result: rollout.CheckWaiting, Reason: v1alpha1.ReasonUnobserved,
			Message: "the Pod's controller couldn't be read: " + err.Error()}
	case string(controller.GetUID()) != write.Controller.UID:
		return &rollout.Check{Result: rollout.CheckPassed, Reason: "",
			Message: "the Pod is gone, and its controller was replaced"}
	}
	if c := p.checkReplacements(ctx, write, controller, otherRules); c != nil {
		return c
	}
	c := healthcheck.Check(p.Remediation.Spec.Plan.Rollout, controller, kube.ParseHealth(write.HealthBefore))
	c.Message = write.Controller.String() + ", the Pod's controller: " + c.Message
	return c
}

// checkCreated verifies the objects that a fix created: each is there, and
// doesn't fail. Nil when all are well.
func (p *Pass) checkCreated(ctx context.Context, rec *v1alpha1.TargetRecord) *rollout.Check {
	for _, w := range record.WritesOf(rec) {
		if !w.Action.Creates() || w.UID == "" {
			continue
		}
		obj, err := p.Targets.Read(ctx, *w.Object)
		switch {
		case kube.Classify(err) == kube.Gone || err == nil && string(obj.GetUID()) != w.UID:
			return &rollout.Check{Result: rollout.CheckFailed, Reason: v1alpha1.ReasonGone,
				Message: fmt.Sprintf("%s, which the fix created, was deleted or replaced", w.Object.String())}
		case err != nil:
			return &rollout.Check{Result: rollout.CheckWaiting, Reason: v1alpha1.ReasonUnobserved,
				Message: "what the fix created couldn't be read: " + err.Error()}
		}
		if c := healthcheck.Check(p.Remediation.Spec.Plan.Rollout, obj,
			kube.Unknown); c.Result != rollout.CheckPassed {
			c.Message = w.Object.String() + ", which the fix created: " + c.Message
			return c
		}
	}
	return nil
}
