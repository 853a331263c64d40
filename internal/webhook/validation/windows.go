// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/strategy"
	"evenkeel.dev/evenkeel/internal/prose"
)

// Plans gives the plans at work, as far as they are known without asking anybody: what
// isn't known in time is left out. They are shared, and mustn't be changed.
type Plans func(context.Context) []v1alpha1.Remediation

// maxPlansNamed is how many plans a warning names.
const maxPlansNamed = 2

// keptWindows warns whoever changes the windows of a policy of its plans at work: what a
// plan was made with is frozen in it.
func (h *PolicyHandler) keptWindows(ctx context.Context, req *policy.Request, p *v1alpha1.ClusterRegoPolicy) []string {
	var old v1alpha1.ClusterRegoPolicy
	if h.Plans == nil || !readOld(req, &old) {
		return nil
	}
	was, known := h.windowsOf(&old)
	now, still := h.windowsOf(p)
	if !known || !still || equality.Semantic.DeepEqual(was, now) {
		return nil
	}
	return keptBy(h.Plans(ctx), now, func(plan *v1alpha1.RemediationPlan) bool {
		return plan.Policy.Name == p.Name && plan.Policy.UID == string(old.UID)
	})
}

// windowsOf are the windows that a policy's next plan is made with; false when that can't be told.
func (h *PolicyHandler) windowsOf(p *v1alpha1.ClusterRegoPolicy) ([]v1alpha1.PlannedWindow, bool) {
	s, problem := strategy.Resolve(p.DeepCopy(), h.named(p))
	return planned(&s), problem == nil
}

// planned are the windows of a strategy as a plan has them. Its defaults are set.
func planned(s *v1alpha1.RemediationStrategySpec) []v1alpha1.PlannedWindow {
	return canary.Rollout(v1alpha1.PolicyRemediation{}, s, 0).Windows
}

// keptWindows warns whoever changes the windows of a strategy of the plans at work that were
// made by it.
func (h *StrategyHandler) keptWindows(ctx context.Context, req *policy.Request,
	s *v1alpha1.RemediationStrategy) []string {
	var old v1alpha1.RemediationStrategy
	if h.Plans == nil || !readOld(req, &old) {
		return nil
	}
	was, now := withDefaults(&old), withDefaults(s)
	if equality.Semantic.DeepEqual(was, now) {
		return nil
	}
	return keptBy(h.Plans(ctx), now, func(plan *v1alpha1.RemediationPlan) bool {
		return plan.StrategyRef != nil && plan.StrategyRef.Name == s.Name && plan.StrategyRef.UID == string(old.UID)
	})
}

func withDefaults(s *v1alpha1.RemediationStrategy) []v1alpha1.PlannedWindow {
	asked := s.Spec.DeepCopy()
	asked.SetDefaults()
	return planned(asked)
}

// readOld reads what an update replaces; false for any other request, and for what can't be read.
func readOld(req *policy.Request, into any) bool {
	return req.Operation == policy.Update && req.OldObject != nil &&
		runtime.DefaultUnstructuredConverter.FromUnstructured(req.OldObject, into) == nil
}

// keptBy warns of the plans at work that keep other windows than those that are asked for now.
func keptBy(plans []v1alpha1.Remediation, now []v1alpha1.PlannedWindow,
	of func(*v1alpha1.RemediationPlan) bool) []string {
	var kept []string
	for i := range plans {
		plan := &plans[i].Spec.Plan
		if !plans[i].IsFinal() && of(plan) && !equality.Semantic.DeepEqual(plan.Rollout.Windows, now) {
			kept = append(kept, plans[i].Name)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	slices.Sort(kept)
	names := strings.Join(kept[:min(len(kept), maxPlansNamed)], ", ")
	if more := len(kept) - maxPlansNamed; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	const remedy = "to stop one: evenkeel rollout pause|abort NAME"
	keep := fmt.Sprintf("windows: %s in progress %s the windows made with ", prose.Count(len(kept), "plan"),
		prose.Verb(len(kept), "keeps", "keep"))
	what := fit(keep+"(%s); only later plans have the new ones", names)
	return inWarnings(what+"; "+remedy, what, "windows: "+remedy)
}
