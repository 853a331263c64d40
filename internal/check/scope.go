// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strings"
	"time"

	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy"
)

// scopes knows which kinds live in no namespace.
type scopes struct {
	declared map[policy.GroupKind]bool // true when cluster-scoped
	// named are the kinds of which an object names a namespace.
	named map[policy.GroupKind]bool
}

// scopesOf knows the kinds of Kubernetes, and those that the manifests' own
// CustomResourceDefinitions declare. Any other kind counts as namespaced: then no
// policy that is limited to namespaces leaves it out by mistake.
func scopesOf(documents []manifest.Document) scopes {
	s := scopes{declared: map[policy.GroupKind]bool{}, named: map[policy.GroupKind]bool{}}
	for i := range documents {
		object := documents[i].Object
		if text(object, "metadata", "namespace") != "" {
			s.named[kindOf(object)] = true
		}
		if kindOf(object) != (policy.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}) {
			continue
		}
		kind := policy.GroupKind{Group: text(object, "spec", "group"), Kind: text(object, "spec", "names", "kind")}
		s.declared[kind] = text(object, "spec", "scope") == "Cluster"
	}
	return s
}

func (s scopes) cluster(kind policy.GroupKind) bool {
	if cluster, known := s.declared[kind]; known {
		return cluster
	}
	cluster, _ := builtIn(kind)
	return cluster
}

// unknown says that nothing tells whether the kind lives in namespaces.
func (s scopes) unknown(kind policy.GroupKind) bool {
	_, declared := s.declared[kind]
	_, known := builtIn(kind)
	return !declared && !known && !s.named[kind]
}

// builtIn says that the kind is of a group of Kubernetes' own API (v1.36), or of
// Evenkeel's, and whether that keeps it outside namespaces.
func builtIn(kind policy.GroupKind) (cluster, known bool) {
	kinds, known := map[string][]string{
		"":                          {"Namespace", "Node", "PersistentVolume", "ComponentStatus"},
		"rbac.authorization.k8s.io": {"ClusterRole", "ClusterRoleBinding"},
		"resource.k8s.io":           {"DeviceClass", "ResourceSlice", "DeviceTaintRule"},
		"networking.k8s.io":         {"IngressClass", "IPAddress", "ServiceCIDR"},
		"storage.k8s.io": {"StorageClass", "CSIDriver", "CSINode", "VolumeAttachment",
			"VolumeAttributesClass"},
		"evenkeel.dev": {"ClusterRegoPolicy", "RegoTemplate", "RemediationStrategy", "ClusterWaiver", "PolicyOverride",
			"Remediation", "RemediationSlice", "RemediationBreaker"},
		"authorization.k8s.io": {"SubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview"},
		"coordination.k8s.io":  {},
		"discovery.k8s.io":     {},
		"events.k8s.io":        {},
		// Nothing of these groups is namespaced.
		"admissionregistration.k8s.io": nil,
		"apiextensions.k8s.io":         nil,
		"apiregistration.k8s.io":       nil,
		"authentication.k8s.io":        nil,
		"certificates.k8s.io":          nil,
		"flowcontrol.apiserver.k8s.io": nil,
		"internal.apiserver.k8s.io":    nil,
		"node.k8s.io":                  nil,
		"scheduling.k8s.io":            nil,
		"storagemigration.k8s.io":      nil,
	}[kind.Group]
	// A group without a dot is nobody else's: apps, batch.
	return known && (kinds == nil || slices.Contains(kinds, kind.Kind)), known || !strings.Contains(kind.Group, ".")
}

// noTime is the time of a request that is asked for its kind only.
func noTime() time.Time { return time.Time{} }
