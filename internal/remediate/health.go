// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/remediate/action"
	"evenkeel.dev/evenkeel/internal/remediate/healthcheck"
	"evenkeel.dev/evenkeel/internal/remediate/rollout"
)

// requireKnownHealth leaves a target alone whose health nobody can tell, before
// anything is written to it: absence of evidence is no proof.
func requireKnownHealth(_ context.Context, a *attempt) *v1alpha1.TargetRecord {
	if action.Remove(a.decision.Actions) || a.plan.Strategy.Mode == v1alpha1.RemediationDryRun ||
		healthcheck.Covered(a.plan.Strategy) != "" {
		return nil // what is to be removed has no health of its own to lose
	}
	health, message, err := healthcheck.Of(a.plan.Strategy, a.object)
	if err != nil || health != kube.Unknown {
		return nil // an error is told where the canary's health, or the intent, is recorded
	}
	return a.failed(v1alpha1.ReasonHealthUnknown,
		healthcheck.Advice(message, healthcheck.KindName(a.object.GroupVersionKind())))
}

// maxHealthReads bounds how many objects of one kind are read to find one that tells.
const maxHealthReads = 3

// unknownHealth is closed while nobody can tell the health of a kind among the
// targets that are to be written: that is shown before the first write, and not by
// failures in the midst of a rollout. One object is read of each kind without a rule.
func (t *targets) unknownHealth(ctx context.Context, s v1alpha1.RolloutStrategy, policyName string, snapshot verdicts,
	pending []v1alpha1.ObjectReference) rollout.Gate {
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
		obj, err := t.read(ctx, ref)
		if err != nil || string(obj.GetUID()) != ref.UID {
			continue // the protocol before its write says what became of it
		}
		reads[gvk] = maxHealthReads
		health, message, err := healthcheck.Of(s, obj)
		if err == nil && health == kube.Unknown && !t.wouldRemove(ctx, policyName, snapshot, obj) {
			kinds, why = append(kinds, healthcheck.KindName(gvk)), message
		}
	}
	if len(kinds) == 0 {
		return rollout.Gate{}
	}
	return rollout.Gate{Closed: true, Reason: v1alpha1.ReasonHealthUnknown,
		Message: healthcheck.Advice(why, strings.Join(kinds, ", "))}
}

// wouldRemove says whether the fix of an object takes it away.
func (t *targets) wouldRemove(ctx context.Context, policyName string, snapshot verdicts,
	obj *unstructured.Unstructured) bool {
	namespace, err := t.namespaceOf(ctx, obj)
	if err != nil {
		return false
	}
	result, matched := snapshot.EvaluateOne(ctx, policyName, t.audit(obj.Object, namespace))
	return matched && action.Remove(result.Actions)
}

// pendingOf are the objects of a plan that are still to be written.
func pendingOf(views []rollout.TargetView) []v1alpha1.ObjectReference {
	var pending []v1alpha1.ObjectReference
	for _, t := range views {
		if t.State == v1alpha1.TargetPending {
			pending = append(pending, t.Object)
		}
	}
	return pending
}

// healthSaid says whether a plan that is held because nobody can tell its targets'
// health has a policy that has said since how it is told. Its own strategy is frozen.
func healthSaid(rem *v1alpha1.Remediation, current *v1alpha1.ClusterRegoPolicy) bool {
	if rem.Status.Phase != v1alpha1.PhaseHeld || rem.Status.Reason != v1alpha1.ReasonHealthUnknown {
		return false
	}
	now := current.Spec.Remediation.DeepCopy()
	now.SetDefaults()
	return !equality.Semantic.DeepEqual(now.Health, rem.Spec.Plan.Strategy.Health) ||
		!equality.Semantic.DeepEqual(now.Analysis, rem.Spec.Plan.Strategy.Analysis)
}
