// SPDX-License-Identifier: Apache-2.0

package healthcheck

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/kube"
)

// Of is an object's health: as kstatus reads it, and where that knows nothing,
// or finds nothing wrong, as the strategy's rule or that for a well-known kind says.
func Of(s v1alpha1.PlannedRollout, obj *unstructured.Unstructured) (kube.Health, string, error) {
	health, message, err := kube.HealthOf(obj)
	if err != nil || health != kube.Current && health != kube.Unknown {
		return health, message, err
	}
	gvk := obj.GroupVersionKind()
	rule, found := canary.HealthRuleFor(s.HealthRules, gvk.Group, gvk.Kind)
	if !found {
		return health, message, nil
	}
	verdict, message, err := canary.JudgeHealth(rule, obj.Object)
	if err != nil {
		return kube.Unknown, fmt.Sprintf("the health rule for %s is wrong: %v", KindName(gvk), err), nil
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

// Covered says why a target whose health nobody can tell may be written all
// the same: metrics tell whether the fix does harm, or the strategy takes it upon
// itself. Empty: it may not.
func Covered(s v1alpha1.PlannedRollout) string {
	switch {
	case len(s.Metrics) > 0:
		return "the metrics of analysis decide"
	case s.UnknownHealth == v1alpha1.UnknownHealthAllow:
		return "health.unknown: Allow takes it for well"
	default:
		return ""
	}
}

// Advice says what a person can do where nobody can tell the health of a kind.
func Advice(why, kind string) string {
	return fmt.Sprintf(
		"%s; no verification could find that the fix does harm. Define in its RemediationStrategy how its health is "+
			"determined: health.rules with a CEL expression for %s, or analysis with metrics; or health.unknown: "+
			"Allow to go by the policy's verdict alone", why, kind)
}

// KindName is a kind with its group, for messages.
func KindName(gvk schema.GroupVersionKind) string {
	return strings.TrimSuffix(gvk.Kind+"."+gvk.Group, ".")
}

// TellsHealth says whether a kind has a rule for its health.
func TellsHealth(s v1alpha1.PlannedRollout, gvk schema.GroupVersionKind) bool {
	_, ruled := canary.HealthRuleFor(s.HealthRules, gvk.Group, gvk.Kind)
	return ruled || kube.TellsHealth(gvk.Group, gvk.Kind)
}

// FitCanary says why an object can't prove anything as a canary.
func FitCanary(s v1alpha1.PlannedRollout, obj *unstructured.Unstructured) error {
	health, message, err := Of(s, obj)
	if err != nil {
		return err
	}
	if health == kube.Unknown {
		return nil // whether it may be written at all is asked of every target
	}
	if health != kube.Current {
		return fmt.Errorf("it is %s: %s", health, message)
	}
	if proves, why := kube.ProvesHealth(obj); !proves {
		return fmt.Errorf("%s", why)
	}
	return nil
}
