// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func ruled() []string {
	return []string{"Service", "Pod", "Secret", "PersistentVolumeClaim", "ConfigMap", "StatefulSet.apps",
		"DaemonSet.apps", "Deployment.apps",
		"ReplicaSet.apps", "DaemonSet.extensions", "Deployment.extensions", "ReplicaSet.extensions",
		"PodDisruptionBudget.policy",
		"CronJob.batch", "Job.batch", "CustomResourceDefinition.apiextensions.k8s.io"}
}

// dataOnly are the kinds that nothing runs for: that they are there is all their
// health. An Ingress or a NetworkPolicy is in force as its controller reads it, which
// it doesn't tell.
func dataOnly() []string {
	return []string{"ServiceAccount", "Endpoints", "LimitRange", "ResourceQuota", "PodTemplate", "Event",
		"Event.events.k8s.io",
		"ControllerRevision.apps", "Lease.coordination.k8s.io", "LeaseCandidate.coordination.k8s.io",
		"EndpointSlice.discovery.k8s.io",
		"Role.rbac.authorization.k8s.io", "ClusterRole.rbac.authorization.k8s.io",
		"RoleBinding.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io",
		"Ingress.networking.k8s.io", "IngressClass.networking.k8s.io", "NetworkPolicy.networking.k8s.io",
		"Ingress.extensions",
		"IPAddress.networking.k8s.io", "RuntimeClass.node.k8s.io", "PriorityClass.scheduling.k8s.io",
		"StorageClass.storage.k8s.io", "CSIDriver.storage.k8s.io", "CSINode.storage.k8s.io",
		"CSIStorageCapacity.storage.k8s.io",
		"VolumeAttributesClass.storage.k8s.io", "DeviceClass.resource.k8s.io", "ResourceSlice.resource.k8s.io",
		"ResourceClaimTemplate.resource.k8s.io",
		"ValidatingWebhookConfiguration.admissionregistration.k8s.io",
		"MutatingWebhookConfiguration.admissionregistration.k8s.io",
		"ValidatingAdmissionPolicy.admissionregistration.k8s.io",
		"ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io",
		"MutatingAdmissionPolicy.admissionregistration.k8s.io",
		"MutatingAdmissionPolicyBinding.admissionregistration.k8s.io",
		"ServiceMonitor.monitoring.coreos.com", "PodMonitor.monitoring.coreos.com",
		"PrometheusRule.monitoring.coreos.com"}
}

// TellsHealth says whether objects of a kind always tell their health: kstatus has a
// rule for the kind, or that they are there is all their health.
func TellsHealth(group, kind string) bool {
	name := strings.TrimSuffix(kind+"."+group, ".")
	return slices.Contains(ruled(), name) || slices.Contains(dataOnly(), name)
}

// unproven says why kstatus's word that an object is current proves nothing: it says
// so of whatever it doesn't know. Empty when there is a rule for the kind, when the
// object carries a condition that kstatus reads, or when its controller says that it
// has observed this generation.
func unproven(obj *unstructured.Unstructured) string {
	gvk := obj.GroupVersionKind()
	if TellsHealth(gvk.Group, gvk.Kind) {
		return ""
	}
	if _, found, err := unstructured.NestedInt64(obj.Object, "status", "observedGeneration"); found && err == nil {
		return ""
	}
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, one := range conditions {
		condition, ok := one.(map[string]any)
		if kind, _ := condition["type"].(string); ok &&
			slices.Contains([]string{"Ready", "Reconciling", "Stalled"}, kind) {
			return ""
		}
	}
	return fmt.Sprintf("no rule defines the health of a %s, and the object has neither an observedGeneration nor a "+
		"condition Ready, Reconciling or Stalled",
		strings.TrimSuffix(gvk.Kind+"."+gvk.Group, "."))
}
