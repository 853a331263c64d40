// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy"
)

// Removed says that no release of Kubernetes since 1.32 serves a kind of its own in the version: nothing is ever found
// there.
func Removed(kind policy.GroupVersionKind) bool {
	kinds, known := map[policy.GroupVersionKind][]string{
		{Group: "extensions", Version: "v1beta1"}:                nil,
		{Group: "apps", Version: "v1beta1"}:                      nil,
		{Group: "apps", Version: "v1beta2"}:                      nil,
		{Group: "batch", Version: "v1beta1"}:                     nil,
		{Group: "batch", Version: "v2alpha1"}:                    nil,
		{Group: "policy", Version: "v1beta1"}:                    nil,
		{Group: "autoscaling", Version: "v2beta1"}:               nil,
		{Group: "autoscaling", Version: "v2beta2"}:               nil,
		{Group: "rbac.authorization.k8s.io", Version: "v1beta1"}: nil,
		{Group: "apiextensions.k8s.io", Version: "v1beta1"}:      nil,
		{Group: "apiregistration.k8s.io", Version: "v1beta1"}:    nil,
		{Group: "discovery.k8s.io", Version: "v1beta1"}:          nil,
		{Group: "node.k8s.io", Version: "v1beta1"}:               nil,
		{Group: "scheduling.k8s.io", Version: "v1beta1"}:         nil,
		{Group: "networking.k8s.io", Version: "v1beta1"}:         {"Ingress", "IngressClass"},
		{Group: "storage.k8s.io", Version: "v1beta1"}: {"CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass",
			"VolumeAttachment"},
		{Group: "admissionregistration.k8s.io", Version: "v1beta1"}: {"MutatingWebhookConfiguration",
			"ValidatingWebhookConfiguration"},
		{Group: "certificates.k8s.io", Version: "v1beta1"}: {"CertificateSigningRequest"},
	}[policy.GroupVersionKind{Group: kind.Group, Version: kind.Version}]
	return known && (kinds == nil || slices.Contains(kinds, kind.Kind))
}

// Superseded are those of some kinds that Kubernetes has removed, where another version or group of the same kind is
// among them: rules that name both find what there is in the other.
func Superseded(kinds []policy.GroupVersionKind) (out []policy.GroupVersionKind) {
	served := map[string]bool{}
	for _, k := range kinds {
		served[k.Kind] = served[k.Kind] || !Removed(k)
	}
	for _, k := range kinds {
		if served[k.Kind] && Removed(k) {
			out = append(out, k)
		}
	}
	return out
}

// divided are the paths without those into superseded kinds, and the latter.
func divided(paths []path) (served, superseded []path) {
	gone := Superseded(kindsIn(paths))
	for _, p := range paths {
		if kind, named := lookedUp(p.ref()); named && slices.Contains(gone, kind) {
			superseded = append(superseded, p)
			continue
		}
		served = append(served, p)
	}
	return served, superseded
}

// kindsIn are those that paths name, in the versions that they name, sorted. What is computed isn't among them.
func kindsIn(paths []path) (kinds []policy.GroupVersionKind) {
	for _, p := range paths {
		if kind, named := lookedUp(p.ref()); named {
			kinds = append(kinds, kind)
		}
	}
	return sortedKinds(kinds)
}

func (p path) ref() ast.Ref {
	ref := make(ast.Ref, 0, len(p))
	for _, key := range p {
		if key == anyKey {
			ref = append(ref, ast.VarTerm("_"))
			continue
		}
		ref = append(ref, ast.StringTerm(key))
	}
	return ref
}
