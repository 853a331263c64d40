// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// InTemplate says whether a place in a workload, a JSON Pointer, is in the template of
// its Pods, or above it.
func InTemplate(pointer string) bool {
	for _, template := range []string{"/spec/template", "/spec/jobTemplate"} {
		if strings.HasPrefix(pointer+"/", template+"/") ||
			strings.HasPrefix(template+"/", strings.TrimSuffix(pointer, "/")+"/") {
			return true
		}
	}
	return false
}

// KeepsOldPods says why a workload goes on with Pods of its old template when that is
// changed, however well they are. Empty when its controller replaces them all.
func KeepsOldPods(obj *unstructured.Unstructured) string {
	strategy, _, _ := unstructured.NestedString(obj.Object, "spec", "updateStrategy", "type")
	onDelete := "its updateStrategy is OnDelete: a Pod gets the new template once somebody deletes the old one"
	switch gvk := obj.GroupVersionKind(); strings.TrimSuffix(gvk.Kind+"."+gvk.Group, ".") {
	case "StatefulSet.apps":
		if strategy == "OnDelete" {
			return onDelete
		}
		if partition := number(obj, 0, "spec", "updateStrategy", "rollingUpdate", "partition"); partition > 0 {
			return fmt.Sprintf("its rolling update has partition %d: the Pods below that ordinal keep the old template",
				partition)
		}
	case "DaemonSet.apps":
		if strategy == "OnDelete" {
			return onDelete
		}
	case "Deployment.apps":
		if paused, _, _ := unstructured.NestedBool(obj.Object, "spec", "paused"); paused {
			return "it is paused: no Pod gets the new template before somebody resumes it"
		}
	case "ReplicaSet.apps", "ReplicationController":
		return fmt.Sprintf("a %s replaces no Pod when its template changes", gvk.Kind)
	case "CronJob.batch":
		return "no Job runs the new template before its schedule, and its status doesn't show how that Job went"
	}
	return ""
}

// RunsTemplate says whether all Pods that a workload wants are of its template as it
// is now, as far as its status tells. The second result says why not.
func RunsTemplate(obj *unstructured.Unstructured) (bool, string) {
	updated := int64(0)
	switch obj.GetKind() {
	case "Deployment", "StatefulSet":
		updated = number(obj, 0, "status", "updatedReplicas")
	case "DaemonSet":
		updated = number(obj, 0, "status", "updatedNumberScheduled")
	default:
		return true, ""
	}
	if wanted, _ := WantedPods(obj); updated < wanted {
		return false, fmt.Sprintf("%d of %d Pods run its template, the others an older one", updated, wanted)
	}
	return true, ""
}

// WantedPods is how many Pods a workload is to have; false when its kind doesn't tell.
func WantedPods(obj *unstructured.Unstructured) (int64, bool) {
	switch obj.GetKind() {
	case "Deployment", "StatefulSet", "ReplicaSet", "ReplicationController":
		return number(obj, 1, "spec", "replicas"), true
	case "DaemonSet":
		return number(obj, 0, "status", "desiredNumberScheduled"), true
	default:
		return 0, false
	}
}

// ReadyPods is how many Pods of a workload are ready; false when its kind doesn't tell.
func ReadyPods(obj *unstructured.Unstructured) (int64, bool) {
	switch obj.GetKind() {
	case "Deployment", "StatefulSet", "ReplicaSet", "ReplicationController":
		return number(obj, 0, "status", "readyReplicas"), true
	case "DaemonSet":
		return number(obj, 0, "status", "numberReady"), true
	default:
		return 0, false
	}
}

// number reads a number, which a patched object may hold in another type than one
// that was read.
func number(obj *unstructured.Unstructured, missing int64, path ...string) int64 {
	value, found, err := unstructured.NestedFieldNoCopy(obj.Object, path...)
	if err != nil || !found {
		return missing
	}
	switch n := value.(type) {
	case int64:
		return n
	case int:
		return int64(n)
	case float64:
		return int64(n)
	case json.Number:
		if i, err := n.Int64(); err == nil {
			return i
		}
	}
	return missing
}
