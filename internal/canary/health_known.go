// SPDX-License-Identifier: Apache-2.0

package canary

import "evenkeel.dev/evenkeel/api/v1alpha1"

// KnownHealth are the rules for well-known kinds that carry no condition which
// kstatus reads, by what their documentation says of their status.
func KnownHealth() []v1alpha1.PlannedHealthRule {
	const available = "object.status.conditions.exists(c, c.type == 'Available' && c.status == 'True')"
	const accepted = "object.status.conditions.exists(c, c.type == 'Accepted' && c.status == 'True')"
	const route = "object.status.parents.size() > 0 && object.status.parents.all(p, p.conditions.exists(c, c.type == " +
		"'Accepted' && c.status == 'True'))"
	return []v1alpha1.PlannedHealthRule{
		// Kubernetes itself
		{Kind: "Namespace", Current: "object.status.phase == 'Active'"},
		{Kind: "PersistentVolume", Current: "object.status.phase in ['Available', 'Bound', 'Released']",
			Failed: "object.status.phase == 'Failed'"},
		{Kind: "ReplicationController",
			Current: "object.status.?readyReplicas.orValue(0) >= object.spec.?replicas.orValue(1)"},
		{APIGroup: "apiregistration.k8s.io", Kind: "APIService", Current: available},
		{APIGroup: "autoscaling", Kind: "HorizontalPodAutoscaler",
			Current: "object.status.conditions.exists(c, c.type == 'AbleToScale' && c.status == 'True')"},
		{APIGroup: "storage.k8s.io", Kind: "VolumeAttachment", Current: "object.status.attached"},
		// Argo
		{APIGroup: "argoproj.io", Kind: "Application",
			Current: "object.status.health.status in ['Healthy', 'Suspended']",
			Failed:  "object.status.health.status == 'Degraded'"},
		{APIGroup: "argoproj.io", Kind: "Rollout", Current: "object.status.phase in ['Healthy', 'Paused']",
			Failed: "object.status.phase == 'Degraded'"},
		// Gateway API
		{APIGroup: "gateway.networking.k8s.io", Kind: "GatewayClass", Current: accepted},
		{APIGroup: "gateway.networking.k8s.io", Kind: "Gateway",
			Current: "object.status.conditions.exists(c, c.type == 'Programmed' && c.status == 'True')"},
		{APIGroup: "gateway.networking.k8s.io", Kind: "HTTPRoute", Current: route},
		{APIGroup: "gateway.networking.k8s.io", Kind: "GRPCRoute", Current: route},
		// Data stores
		{APIGroup: "elasticsearch.k8s.elastic.co", Kind: "Elasticsearch",
			Current: "object.status.health in ['green', 'yellow'] && object.status.phase == 'Ready'",
			Failed:  "object.status.phase == 'Invalid'"},
		{APIGroup: "acid.zalan.do", Kind: "postgresql", Current: "object.status.PostgresClusterStatus == 'Running'",
			Failed: "object.status.PostgresClusterStatus.endsWith('Failed')"},
		// Operators
		{APIGroup: "operators.coreos.com", Kind: "ClusterServiceVersion", Current: "object.status.phase == 'Succeeded'",
			Failed: "object.status.phase == 'Failed'"},
		{APIGroup: "operators.coreos.com", Kind: "Subscription", Current: "object.status.state == 'AtLatestKnown'",
			Failed: "object.status.state == 'UpgradeFailed'"},
	}
}
