// SPDX-License-Identifier: Apache-2.0

package healthcheck

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// Check compares health with what it was before: an object that was well, or on
// its way, must be well; one that had failed must at least be no worse, once its
// controller has seen the change. One whose health nobody could tell before passes by
// the word of the strategy or its metrics; where the health was told, it must be again.
func Check(s v1alpha1.PlannedRollout, obj *unstructured.Unstructured, before kube.Health) *rollout.Check {
	health, message, err := Of(s, obj)
	switch {
	case err != nil:
		return &rollout.Check{Result: rollout.CheckWaiting, Reason: "", Message: err.Error()}
	case health == kube.Current:
		return &rollout.Check{Result: rollout.CheckPassed, Reason: "", Message: "clean and healthy"}
	case health == kube.Failed && before != kube.Failed:
		return &rollout.Check{Result: rollout.CheckFailed, Reason: v1alpha1.ReasonUnhealthy,
			Message: "its health got worse: " + message}
	case health == kube.Unknown || before == kube.Unknown:
		return unknownCheck(s, health, before, message)
	case health == kube.InProgress && before == kube.InProgress:
		return &rollout.Check{Result: rollout.CheckWaiting, Reason: v1alpha1.ReasonUnhealthyBefore,
			Message: fmt.Sprintf(
				"%s: %s; so it was before the write, which proves nothing of the fix", health, message)}
	case health <= before && observed(obj):
		return &rollout.Check{Result: rollout.CheckPassed, Reason: "",
			Message: fmt.Sprintf("clean, and no less healthy than before (%s)", before)}
	default:
		return &rollout.Check{Result: rollout.CheckWaiting, Reason: "", Message: fmt.Sprintf("%s: %s", health, message)}
	}
}

// AsWellAsBefore says whether an object whose write was undone is as well as it was
// before it.
func AsWellAsBefore(s v1alpha1.PlannedRollout, obj *unstructured.Unstructured, before kube.Health) *rollout.Check {
	c := Check(s, obj, before)
	if c.Result == rollout.CheckWaiting && c.Reason == v1alpha1.ReasonUnhealthyBefore && observed(obj) {
		return &rollout.Check{Result: rollout.CheckPassed, Reason: "",
			Message: fmt.Sprintf("as well as before (%s)", before)}
	}
	return c
}

// unknownCheck judges an object whose health couldn't be told before its write, or
// can't be now.
func unknownCheck(s v1alpha1.PlannedRollout, health, before kube.Health, message string) *rollout.Check {
	if covered := Covered(s); health == kube.Unknown && before == kube.Unknown && covered != "" {
		return &rollout.Check{Result: rollout.CheckPassed, Reason: "",
			Message: "clean; its health can't be determined: " + covered}
	}
	return &rollout.Check{Result: rollout.CheckWaiting, Reason: "", Message: fmt.Sprintf("%s: %s", health, message)}
}

// observed says whether the object's controller has seen its latest generation.
func observed(obj *unstructured.Unstructured) bool {
	seen, found, err := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
	return err == nil && (!found || seen >= obj.GetGeneration())
}
