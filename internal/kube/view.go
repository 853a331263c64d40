// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ReadByView says whether whoever has Kubernetes' own role view in a namespace may read an
// object of a kind there: of others, values are told to nobody who needn't have read them.
func ReadByView(apiVersion, kind, namespace string) bool {
	of := schema.FromAPIVersionAndKind(apiVersion, kind)
	return namespace != "" && slices.Contains(map[string][]string{
		"": {"ConfigMap", "PersistentVolumeClaim", "Pod", "ReplicationController", "Service", "ServiceAccount",
			"LimitRange", "ResourceQuota"},
		"apps":              {"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"},
		"autoscaling":       {"HorizontalPodAutoscaler"},
		"batch":             {"CronJob", "Job"},
		"policy":            {"PodDisruptionBudget"},
		"networking.k8s.io": {"Ingress", "NetworkPolicy"},
	}[of.Group], of.Kind)
}
