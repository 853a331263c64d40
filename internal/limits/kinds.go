// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// ownGroup is Evenkeel's own API group. No flag opens it.
var ownGroup = v1alpha1.GroupVersion.Group //nolint:gochecknoglobals // set once, from what can't be a constant

// Protected is a set of kinds that no fix writes, because whoever writes them can
// get other permissions, or take the place of what keeps the cluster safe.
type Protected struct {
	// Group is an API group; with a leading "*." also every group below it.
	Group string
	// Kinds are those of the group; nil for all of them.
	Kinds []string
	// Why is what somebody could do with them.
	Why string
}

// ProtectedKinds is the list. Besides, no fix writes a kind of whatever group whose
// name says that it is a role or the binding of one.
func ProtectedKinds() []Protected {
	return []Protected{
		{Group: ownGroup, Why: "a policy could change policies, waivers, plans and breakers"},
		{Group: "rbac.authorization.k8s.io", Why: "it grants permissions"},
		{Group: "authorization.openshift.io", Why: "it grants permissions"},
		{Group: "user.openshift.io", Why: "it says who belongs to a group"},
		{Group: "security.openshift.io", Why: "it says which Pods may be privileged"},
		{Group: "authentication.k8s.io", Why: "it makes tokens"},
		{Group: "certificates.k8s.io", Why: "it makes credentials"},
		{Group: "admissionregistration.k8s.io", Why: "it decides what admission refuses and changes"},
		{Group: "apiextensions.k8s.io", Why: "it defines kinds, and who converts them"},
		{Group: "apiregistration.k8s.io", Why: "it decides who serves an API"},
		{Group: "flowcontrol.apiserver.k8s.io", Why: "it decides whose requests wait"},
		{Group: "node.k8s.io", Why: "it decides how containers are isolated"},
		{Group: "scheduling.k8s.io", Why: "it decides which Pods push out others"},
		{Group: "storage.k8s.io", Why: "it decides which drivers get volumes, and tokens of service accounts"},
		{Group: "resource.k8s.io", Kinds: []string{"DeviceClass"}, Why: "it decides which devices containers get"},
		{Group: "coordination.k8s.io", Why: "nodes and leaders live by leases"},
		{Group: "discovery.k8s.io", Why: "it decides where a Service's traffic goes"},
		{Group: "", Kinds: []string{"ServiceAccount"}, Why: "it is an identity; its annotations may be one of a cloud"},
		{Group: "", Kinds: []string{"Namespace"}, Why: "its labels decide which Pods are let in, and what judges them"},
		{Group: "", Kinds: []string{"Node", "Binding"}, Why: "it decides where Pods run"},
		{Group: "", Kinds: []string{"PersistentVolume"}, Why: "it may be a directory of a node"},
		{Group: "", Kinds: []string{"Endpoints"}, Why: "it decides where a Service's traffic goes"},
		{Group: "", Kinds: []string{"ResourceQuota", "LimitRange"}, Why: "it bounds what a namespace may use"},
		{Group: "policy", Kinds: []string{"PodSecurityPolicy"}, Why: "it says which Pods may be privileged"},
		{Group: "*.kyverno.io", Why: "it decides what admission refuses and changes"},
		{Group: "*.gatekeeper.sh", Why: "it decides what admission refuses and changes"},
		{Group: "argoproj.io", Kinds: []string{"Application", "ApplicationSet", "AppProject"},
			Why: "it is applied with the permissions of Argo CD"},
		{Group: "*.toolkit.fluxcd.io", Why: "it is applied with the permissions of Flux"},
		{Group: "*.crossplane.io", Why: "it is applied with the permissions of Crossplane"},
		{Group: "operators.coreos.com", Why: "it installs operators with permissions of their own"},
		{Group: "helm.cattle.io", Why: "it installs charts with the permissions of their controller"},
		{Group: "security.istio.io", Why: "it decides who may call whom"},
		{Group: "cilium.io", Why: "it decides who may call whom"},
		{Group: "policy.networking.k8s.io", Why: "it decides who may call whom"},
		{Group: "*.projectcalico.org", Why: "it decides who may call whom"},
	}
}

func protection(gk schema.GroupKind) (why string, protected bool) {
	for _, p := range ProtectedKinds() {
		if inGroup(gk.Group, p.Group) && (p.Kinds == nil || slices.Contains(p.Kinds, gk.Kind)) {
			return p.Why, true
		}
	}
	for _, end := range []string{"Role", "RoleBinding", "RoleTemplate", "RoleTemplateBinding"} {
		if strings.HasSuffix(gk.Kind, end) {
			return "by its name it grants permissions", true
		}
	}
	return "", false
}

// inGroup says whether a group is one, or is or lies below one that begins with "*.".
func inGroup(group, pattern string) bool {
	domain, wild := strings.CutPrefix(pattern, "*.")
	return group == domain || wild && strings.HasSuffix(group, "."+domain)
}
