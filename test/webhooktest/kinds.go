// SPDX-License-Identifier: Apache-2.0

package webhooktest

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/internal/webhook/discovery"
)

// Kinds serves a few kinds.
func Kinds() *discovery.Kinds {
	return discovery.NewKinds(func() (meta.RESTMapper, error) { return Mapper(), nil })
}

// Mapper knows the kinds of Kinds.
func Mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{
		{Version: "v1"}, {Group: "apps", Version: "v1"}, {Group: "batch", Version: "v1"},
		{Group: "coordination.k8s.io", Version: "v1"}, {Group: "evenkeel.dev", Version: "v1alpha1"},
	})
	for _, k := range []schema.GroupVersionKind{
		{Version: "v1", Kind: "Pod"},
		{Version: "v1", Kind: "Service"},
		{Version: "v1", Kind: "ReplicationController"},
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "apps", Version: "v1", Kind: "StatefulSet"},
		{Group: "apps", Version: "v1", Kind: "DaemonSet"},
		{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
		{Group: "batch", Version: "v1", Kind: "Job"},
		{Group: "batch", Version: "v1", Kind: "CronJob"},
		{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"},
		{Group: "evenkeel.dev", Version: "v1alpha1", Kind: "ClusterRegoPolicy"},
	} {
		m.Add(k, meta.RESTScopeNamespace)
	}
	m.Add(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, meta.RESTScopeRoot)
	return m
}
