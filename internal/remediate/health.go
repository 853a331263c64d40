package remediate

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/remediate/action"
	"evenkeel.dev/evenkeel/internal/remediate/rollout"
)

// healthOf is an object's health: as kstatus reads it, and where that knows nothing,
// or finds nothing wrong, as the strategy's rule or that for a well-known kind says.
func healthOf(s v1alpha1.RolloutStrategy, obj *unstructured.Unstructured) (kube.Health, string, error) {
	health, message, err := kube.HealthOf(obj)
	if err != nil || health != kube.Current && health != kube.Unknown {
		return health, message, err
	}
	gvk := obj.GroupVersionKind()
	rule, found := canary.HealthRuleFor(s.Health, gvk.Group, gvk.Kind)
	if !found {
		return health, message, nil
	}
	verdict, message, err := canary.JudgeHealth(rule, obj.Object)
	if err != nil {
		return kube.Unknown, fmt.Sprintf("the health rule for %s is wrong: %v", kindName(gvk), err), nil
	}
	switch verdict {
	case canary.HealthCurrent:
		return kube.Current, message, nil
	case canary.HealthFailed:
		return kube.Failed, message, nil
	case canary.HealthInProgress:
	}
	return kube.InProgress, message, nil
}

// unknownCovered says why a target whose health nobody can tell may be written all
// the same: metrics tell whether the fix does harm, or the strategy takes it upon
// itself. Empty: it may not.
func unknownCovered(s v1alpha1.RolloutStrategy) string {
	switch {
	case s.Analysis != nil && len(s.Analysis.Metrics) > 0:
		return "the metrics of analysis tell"
	case s.Health != nil && s.Health.Unknown == v1alpha1.UnknownHealthAllow:
		return "health.unknown: Allow takes it for well"
	default:
		return ""
	}
}

// healthAdvice says what a person can do where nobody can tell the health of a kind.
func healthAdvice(why, kind string) string {
	return fmt.Sprintf("%s; no verification could find that the fix does harm. Say in spec.remediation how its health is told: "+
		"health.rules with a CEL expression for %s, or analysis with metrics; or health.unknown: Allow to go by the policy's verdict alone", why, kind)
}

func kindName(gvk schema.GroupVersionKind) string {
	return strings.TrimSuffix(gvk.Kind+"."+gvk.Group, ".")
}

// requireKnownHealth leaves a target alone whose health nobody can tell, before
// anything is written to it: absence of evidence is no proof.
func requireKnownHealth(_ context.Context, a *attempt) *v1alpha1.TargetRecord {
	if action.Remove(a.decision.Actions) || a.plan.Strategy.Mode == v1alpha1.RemediationDryRun || unknownCovered(a.plan.Strategy) != "" {
		return nil // what is to be removed has no health of its own to lose
	}
	health, message, err := healthOf(a.plan.Strategy, a.object)
	if err != nil || health != kube.Unknown {
		return nil // an error is told where the canary's health, or the intent, is recorded
	}
	return a.failed(v1alpha1.ReasonHealthUnknown, healthAdvice(message, kindName(a.object.GroupVersionKind())))
}

// maxHealthReads bounds how many objects of one kind are read to find one that tells.
const maxHealthReads = 3

// unknownHealth is closed while nobody can tell the health of a kind among the
// targets that are to be written: that is shown before the first write, and not by
// failures in the midst of a rollout. One object is read of each kind without a rule.
func (t *targets) unknownHealth(ctx context.Context, s v1alpha1.RolloutStrategy, policyName string, snapshot verdicts, pending []v1alpha1.ObjectReference) rollout.Gate {
	if unknownCovered(s) != "" {
		return rollout.Gate{}
	}
	reads := map[schema.GroupVersionKind]int{}
	var kinds []string
	why := ""
	for _, ref := range pending {
		gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
		if reads[gvk] >= maxHealthReads || tellsHealth(s, gvk) {
			continue
		}
		reads[gvk]++
		obj, err := t.read(ctx, ref)
		if err != nil || string(obj.GetUID()) != ref.UID {
			continue // the protocol before its write says what became of it
		}
		reads[gvk] = maxHealthReads
		health, message, err := healthOf(s, obj)
		if err == nil && health == kube.Unknown && !t.wouldRemove(ctx, policyName, snapshot, obj) {
			kinds, why = append(kinds, kindName(gvk)), message
		}
	}
	if len(kinds) == 0 {
		return rollout.Gate{}
	}
	return rollout.Gate{Closed: true, Reason: v1alpha1.ReasonHealthUnknown, Message: healthAdvice(why, strings.Join(kinds, ", "))}
}

// tellsHealth says whether a kind has a rule for its health.
func tellsHealth(s v1alpha1.RolloutStrategy, gvk schema.GroupVersionKind) bool {
	_, ruled := canary.HealthRuleFor(s.Health, gvk.Group, gvk.Kind)
	return ruled || kube.TellsHealth(gvk.Group, gvk.Kind)
}

// wouldRemove says whether the fix of an object takes it away.
func (t *targets) wouldRemove(ctx context.Context, policyName string, snapshot verdicts, obj *unstructured.Unstructured) bool {
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

// healthRulesOnly is a strategy's health without its word for what nobody can tell.
func healthRulesOnly(s *v1alpha1.HealthStrategy) *v1alpha1.HealthStrategy {
	if s == nil {
		return nil
	}
	return &v1alpha1.HealthStrategy{Rules: s.Rules}
}

// healthSaid says whether a plan that is held because nobody can tell its targets'
// health has a policy that has said since how it is told. Its own strategy is frozen.
func healthSaid(rem *v1alpha1.Remediation, current *v1alpha1.ClusterRegoPolicy) bool {
	if rem.Status.Phase != v1alpha1.PhaseHeld || rem.Status.Reason != v1alpha1.ReasonHealthUnknown {
		return false
	}
	now := current.Spec.Remediation.DeepCopy()
	now.SetDefaults()
	return !equality.Semantic.DeepEqual(now.Health, rem.Spec.Plan.Strategy.Health) || !equality.Semantic.DeepEqual(now.Analysis, rem.Spec.Plan.Strategy.Analysis)
}
