// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/healthcheck"
	"evenkeel.dev/evenkeel/internal/remediate/targets"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// RequireKnownHealth leaves a target alone whose health nobody can tell, before
// anything is written to it: absence of evidence is no proof.
func RequireKnownHealth(_ context.Context, a *Attempt) *v1alpha1.TargetRecord {
	if action.Remove(a.decision.Actions) || a.Plan.Rollout.Mode == v1alpha1.RemediationDryRun ||
		healthcheck.Covered(a.Plan.Rollout) != "" {
		return nil // what is to be removed has no health of its own to lose
	}
	health, message, err := healthcheck.Of(a.Plan.Rollout, a.Object)
	if err != nil || health != kube.Unknown {
		return nil // an error is told where the canary's health, or the intent, is recorded
	}
	return a.Failed(v1alpha1.ReasonHealthUnknown,
		healthcheck.Advice(message, healthcheck.KindName(a.Object.GroupVersionKind())))
}

// maxHealthReads bounds how many objects of one kind are read to find one that tells.
const maxHealthReads = 3

// UnknownHealth is closed while nobody can tell the health of a kind among the
// targets that are to be written: that is shown before the first write, and not by
// failures in the midst of a rollout. One object is read of each kind without a rule.
func UnknownHealth(ctx context.Context, t *targets.Client, s v1alpha1.PlannedRollout, policyName string,
	snapshot targets.Verdicts, pending []v1alpha1.ObjectReference) rollout.Gate {
	if healthcheck.Covered(s) != "" {
		return rollout.Gate{}
	}
	reads := map[schema.GroupVersionKind]int{}
	var kinds []string
	why := ""
	for _, ref := range pending {
		gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
		if reads[gvk] >= maxHealthReads || healthcheck.TellsHealth(s, gvk) {
			continue
		}
		reads[gvk]++
		obj, err := t.Read(ctx, ref)
		if err != nil || string(obj.GetUID()) != ref.UID {
			continue // the protocol before its write says what became of it
		}
		reads[gvk] = maxHealthReads
		health, message, err := healthcheck.Of(s, obj)
		if err == nil && health == kube.Unknown && !wouldRemove(ctx, t, policyName, snapshot, obj) {
			kinds, why = append(kinds, healthcheck.KindName(gvk)), message
		}
	}
	if len(kinds) == 0 {
		return rollout.Gate{}
	}
	return rollout.Gate{Closed: true, Reason: v1alpha1.ReasonHealthUnknown,
		Message: healthcheck.Advice(why, strings.Join(kinds, ", "))}
}

// wouldRemove says whether the fix of an object takes it away, or nobody knows at the moment: then it is asked again
// right before its write.
func wouldRemove(ctx context.Context, t *targets.Client, policyName string, snapshot targets.Verdicts,
	obj *unstructured.Unstructured) bool {
	result, matched, err := t.Judge(ctx, snapshot, policyName, obj)
	return err == nil && matched && (action.Remove(result.Actions) || policy.LookupUnknown(result.Err))
}
