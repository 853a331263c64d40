// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Health is an object's health as kstatus computes it, worst last.
type Health int

const (
	// Current means that the object's controller has caught up, and all is well.
	Current Health = iota
	// InProgress means that the object's controller is still at work.
	InProgress
	// Failed means that the object's controller reports a failure.
	Failed
	// Unknown means that nothing tells: no rule for the kind, and no condition.
	Unknown
)

// String is the name that records use.
func (h Health) String() string {
	switch h {
	case Current:
		return "Current"
	case InProgress:
		return "InProgress"
	case Unknown:
		return "Unknown"
	case Failed:
	}
	return "Failed"
}

// ParseHealth reads the name that String wrote; anything else counts as Failed.
func ParseHealth(name string) Health {
	switch name {
	case "Current":
		return Current
	case "InProgress":
		return InProgress
	case "Unknown":
		return Unknown
	default:
		return Failed
	}
}

// HealthOf computes an object's health, with kstatus's message. kstatus reports
// an object whose observedGeneration lags behind its generation as in progress, and
// any object that it knows nothing of as current: such a one is Unknown here.
func HealthOf(obj *unstructured.Unstructured) (Health, string, error) {
	result, err := status.Compute(obj)
	if err != nil {
		return Failed, "", fmt.Errorf("compute the health of %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	switch result.Status {
	case status.CurrentStatus:
		if why := unproven(obj); why != "" {
			return Unknown, why, nil
		}
		return Current, result.Message, nil
	case status.FailedStatus:
		return Failed, result.Message, nil
	default:
		return InProgress, result.Message, nil
	}
}

// ProvesHealth says whether the object's health can get worse when a bad change
// is made: a workload with no ready replica, or whose Pods are of an older template,
// looks healthy whatever its template says. The second result says why not.
func ProvesHealth(obj *unstructured.Unstructured) (bool, string) {
	ready, replicated := ReadyPods(obj)
	switch {
	case !replicated:
		return true, ""
	case ready < 1:
		return false, "it has no ready replica"
	}
	return RunsTemplate(obj)
}
