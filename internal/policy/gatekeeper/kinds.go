// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/manifest"
)

// Kind is a kind of objects that a cluster stores.
type Kind struct {
	Group, Kind string
	// Scope is that of its CustomResourceDefinition: Namespaced or Cluster; empty for one that isn't known.
	Scope string
}

const (
	namespaced    = "Namespaced"
	clusterScoped = "Cluster"
	everything    = "*"
)

// BuiltIn are the kinds that Kubernetes itself stores and lists, but for events and leases, which nobody judges.
func BuiltIn() []Kind {
	var kinds []Kind
	add := func(scope, group, names string) {
		for name := range strings.FieldsSeq(names) {
			kinds = append(kinds, Kind{Group: group, Kind: name, Scope: scope})
		}
	}
	add(namespaced, "", "ConfigMap Endpoints LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController "+
		"ResourceQuota Secret Service ServiceAccount")
	add(clusterScoped, "", "Namespace Node PersistentVolume")
	add(clusterScoped, "admissionregistration.k8s.io", "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding "+
		"MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding "+
		"ValidatingWebhookConfiguration")
	add(clusterScoped, "apiextensions.k8s.io", "CustomResourceDefinition")
	add(clusterScoped, "apiregistration.k8s.io", "APIService")
	add(namespaced, "apps", "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet")
	add(namespaced, "autoscaling", "HorizontalPodAutoscaler")
	add(namespaced, "batch", "CronJob Job")
	add(clusterScoped, "certificates.k8s.io", "CertificateSigningRequest")
	add(namespaced, "discovery.k8s.io", "EndpointSlice")
	add(clusterScoped, "flowcontrol.apiserver.k8s.io", "FlowSchema PriorityLevelConfiguration")
	add(namespaced, "networking.k8s.io", "Ingress NetworkPolicy")
	add(clusterScoped, "networking.k8s.io", "IPAddress IngressClass ServiceCIDR")
	add(clusterScoped, "node.k8s.io", "RuntimeClass")
	add(namespaced, "policy", "PodDisruptionBudget")
	add(namespaced, "rbac.authorization.k8s.io", "Role RoleBinding")
	add(clusterScoped, "rbac.authorization.k8s.io", "ClusterRole ClusterRoleBinding")
	add(namespaced, "resource.k8s.io", "ResourceClaim ResourceClaimTemplate")
	add(clusterScoped, "resource.k8s.io", "DeviceClass ResourceSlice")
	add(clusterScoped, "scheduling.k8s.io", "PriorityClass")
	add(namespaced, "storage.k8s.io", "CSIStorageCapacity")
	add(clusterScoped, "storage.k8s.io", "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass")
	return kinds
}

// Judged says that Gatekeeper's constraints on every kind are taken to mean this one: not events and leases, which say
// what happens and keep nodes alive, not questions, and neither Evenkeel's nor Gatekeeper's own.
func Judged(group, kind string) bool {
	switch group {
	case v1alpha1.GroupVersion.Group, "authentication.k8s.io", "authorization.k8s.io":
		return false
	case "", "events.k8s.io":
		return kind != "Event" && kind != "Binding" && kind != "ComponentStatus"
	case "coordination.k8s.io":
		return kind != "Lease"
	}
	return !strings.HasSuffix(group, ".gatekeeper.sh")
}

func kindsDefined(documents []manifest.Document) (kinds []Kind) {
	for i := range documents {
		if object := documents[i].Object; definesKind(object) {
			kinds = append(kinds, kindDefined(object))
		}
	}
	return kinds
}

func definesKind(object map[string]any) bool {
	return object["kind"] == "CustomResourceDefinition" && groupOf(object) == "apiextensions.k8s.io"
}

func kindDefined(object map[string]any) Kind {
	group, _, _ := unstructured.NestedString(object, "spec", "group")
	kind, _, _ := unstructured.NestedString(object, "spec", "names", "kind")
	scope, _, _ := unstructured.NestedString(object, "spec", "scope")
	return Kind{Group: group, Kind: kind, Scope: scope}
}

// KindsOf are the kinds that a cluster serves and lists.
func KindsOf(served []*metav1.APIResourceList) (kinds []Kind) {
	for _, list := range served {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for i := range list.APIResources {
			r := &list.APIResources[i]
			if !slices.Contains(r.Verbs, "list") {
				continue
			}
			k := Kind{Group: version.Group, Kind: r.Kind, Scope: clusterScoped}
			if r.Namespaced {
				k.Scope = namespaced
			}
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// KindOf is the kind of an object. That it is in a namespace tells its scope; that it is in none doesn't.
func KindOf(object map[string]any) Kind {
	u := unstructured.Unstructured{Object: object}
	kind := Kind{Group: u.GroupVersionKind().Group, Kind: u.GetKind()}
	if u.GetNamespace() != "" {
		kind.Scope = namespaced
	}
	return kind
}

// known are all kinds that are known, each once: of the same kind the one counts that comes first.
func known(sources ...[]Kind) []Kind {
	var kinds []Kind
	for _, k := range slices.Concat(sources...) {
		if k.Kind != "" && Judged(k.Group, k.Kind) && !slices.ContainsFunc(kinds, k.same) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

func (k Kind) same(other Kind) bool { return k.Group == other.Group && k.Kind == other.Kind }

func (k Kind) String() string {
	if k.Group == "" {
		return k.Kind
	}
	return k.Kind + "." + k.Group
}
