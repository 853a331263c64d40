// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/internal/kube"
)

// wrote is an entry of managedFields: what a field manager has written.
func wrote(manager, apiVersion, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, APIVersion: apiVersion, FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(fields)}
}

func TestManagedByFieldManager(t *testing.T) {
	const spec, content = `{"f:spec":{"f:replicas":{}}}`, `{"f:data":{"f:a":{}}}`
	status := wrote("argocd-controller", "apps/v1", `{"f:status":{}}`)
	status.Subresource = "status"
	unread := wrote("kustomize-controller", "v1", "")
	unread.FieldsV1 = nil
	cases := map[string]struct {
		reason string
		tools  kube.Tools
		object metav1.ObjectMeta
		want   string
	}{
		"Argo CD's server-side apply is enough": {
			reason: "it tracks by a label of another key, or an annotation that somebody took away",
			object: metav1.ObjectMeta{
				ManagedFields: []metav1.ManagedFieldsEntry{
					wrote("kubectl", "apps/v1", spec), wrote("argocd-controller", "apps/v1", spec)}},
			want: "Argo CD (field manager argocd-controller)",
		},
		"Argo CD's controller with its default label names the application": {
			reason: "label tracking was the default before version 3",
			object: metav1.ObjectMeta{Labels: map[string]string{"app.kubernetes.io/instance": "shop"},
				ManagedFields: []metav1.ManagedFieldsEntry{wrote("argocd-application-controller", "v1", content)}},
			want: "Argo CD (application shop)",
		},
		"Flux's Kustomization is known by its controller": {
			reason: "its labels were taken away",
			object: metav1.ObjectMeta{
				ManagedFields: []metav1.ManagedFieldsEntry{wrote("kustomize-controller", "v1", content)}},
			want: "Flux (field manager kustomize-controller)",
		},
		"Flux's Helm release is known by its controller": {
			reason: "hooks and definitions of a chart",
			object: metav1.ObjectMeta{
				ManagedFields: []metav1.ManagedFieldsEntry{wrote("helm-controller", "v1", content)}},
			want: "Flux (field manager helm-controller)",
		},
		"Labels that Flux applies come from a source": {
			reason: "a Namespace has nothing else",
			object: metav1.ObjectMeta{
				ManagedFields: []metav1.ManagedFieldsEntry{
					wrote("kustomize-controller", "v1", `{"f:metadata":{"f:labels":{"f:team":{}}}}`)}},
			want: "Flux (field manager kustomize-controller)",
		},
		"A finalizer and owners don't come from a source": {
			reason: "controllers set them on what they only use",
			object: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
				wrote("kustomize-controller", "v1",
					`{"f:metadata":{"f:finalizers":{".":{},"v:\"x\"":{}},"f:ownerReferences":{}}}`)}},
		},
		"A status is no content": {
			reason: "it is written to objects of others too",
			object: metav1.ObjectMeta{
				ManagedFields: []metav1.ManagedFieldsEntry{
					status, wrote("argocd-controller", "v1", `{"f:status":{}}`)}},
		},
		"A tool's own objects aren't managed by what reconciles them": {
			reason: "Flux sets a field of a Kustomization as its controller",
			object: metav1.ObjectMeta{
				ManagedFields: []metav1.ManagedFieldsEntry{
					wrote("kustomize-controller", "kustomize.toolkit.fluxcd.io/v1", spec),
					wrote("argocd-application-controller", "argoproj.io/v1alpha1", `{"f:operation":{}}`)}},
		},
		"An object of one tool is managed by another": {
			reason: "Argo CD installs Flux's objects",
			object: metav1.ObjectMeta{
				ManagedFields: []metav1.ManagedFieldsEntry{
					wrote("argocd-controller", "kustomize.toolkit.fluxcd.io/v1", spec)}},
			want: "Argo CD (field manager argocd-controller)",
		},
		"An entry that can't be read still counts": {
			reason: "unknown is never a permission",
			object: metav1.ObjectMeta{
				ManagedFields: []metav1.ManagedFieldsEntry{wrote("argocd-controller", "v1", `not JSON`)}},
			want: "Argo CD (field manager argocd-controller)",
		},
		"An entry without fields still counts": {
			reason: "unknown is never a permission",
			object: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{unread}},
			want:   "Flux (field manager kustomize-controller)",
		},
		"Config Sync that has let go manages no longer, though it wrote": {
			reason: "its documented way to stop managing one object",
			object: metav1.ObjectMeta{
				Annotations: map[string]string{"configmanagement.gke.io/managed": "disabled",
					"config.k8s.io/owning-inventory": "root"},
				Labels:        map[string]string{"applyset.kubernetes.io/part-of": "set"},
				ManagedFields: []metav1.ManagedFieldsEntry{wrote("configsync", "v1", content)}},
		},
		"People and Helm write by hand": {
			reason: "nothing writes back what they wrote",
			object: metav1.ObjectMeta{Labels: map[string]string{"app.kubernetes.io/instance": "shop"},
				ManagedFields: []metav1.ManagedFieldsEntry{wrote("kubectl-client-side-apply", "v1", content),
					wrote("argocd-server", "v1", content)}},
		},
		"A field manager that the administrator names counts": {
			reason: "a tool that isn't known", tools: kube.Tools{FieldManagers: []string{"terraform"}},
			object: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{wrote("terraform", "v1", content)}},
			want:   "terraform (its field manager)",
		},
		"The label that the administrator names counts alone": {
			reason: "this cluster's Argo CD tracks by it",
			tools:  kube.Tools{InstanceLabels: []string{"app.kubernetes.io/instance"}},
			object: metav1.ObjectMeta{Labels: map[string]string{"app.kubernetes.io/instance": "team-a_shop"}},
			want:   "Argo CD (application team-a/shop)",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if manager, managed := tc.tools.ManagedBy(&tc.object); managed {
				got = manager.String()
			}
			if got != tc.want {
				t.Errorf("%s\nManagedBy: want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

func TestManagedByOtherTools(t *testing.T) {
	cases := map[string]struct {
		reason              string
		labels, annotations map[string]string
		owners              []metav1.OwnerReference
		want                string
	}{
		"Argo CD's installation is a mark": {reason: "it is written beside the tracking annotation",
			annotations: map[string]string{"argocd.argoproj.io/installation-id": "west"}, want: "Argo CD"},
		"Flux's namespace label is enough": {
			reason: "somebody took the name away",
			labels: map[string]string{"helm.toolkit.fluxcd.io/namespace": "apps"},
			want:   "Flux (HelmRelease of namespace apps)"},
		"Sveltos names its profile": {
			reason: "an annotation", annotations: map[string]string{"projectsveltos.io/owner-kind": "ClusterProfile",
				"projectsveltos.io/owner-name": "base"}, want: "Sveltos (ClusterProfile base)"},
		"Sveltos names the manifest": {
			reason: "earlier versions use labels",
			labels: map[string]string{"projectsveltos.io/reference-kind": "ConfigMap",
				"projectsveltos.io/reference-namespace": "shop", "projectsveltos.io/reference-name": "web"},
			want: "Sveltos (ConfigMap shop/web)"},
		"Fleet names its bundle": {
			reason: "its objects are Helm's too", labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"},
			annotations: map[string]string{
				"objectset.rio.cattle.io/id": "default-shop", "meta.helm.sh/release-name": "shop"},
			want: "Rancher (bundle default-shop)"},
		"An object set names its owner": {
			reason: "k3s applies a directory", labels: map[string]string{"objectset.rio.cattle.io/hash": "abc"},
			annotations: map[string]string{
				"objectset.rio.cattle.io/id": "", "objectset.rio.cattle.io/owner-gvk": "k3s.cattle.io/v1, Kind=Addon",
				"objectset.rio.cattle.io/owner-namespace": "kube-system",
				"objectset.rio.cattle.io/owner-name":      "coredns"}, want: "Rancher (Addon kube-system/coredns)"},
		"An object set's hash is enough": {
			reason: "unknown is never a permission", labels: map[string]string{"objectset.rio.cattle.io/hash": "abc"},
			want: "Rancher"},
		"kapp is known by its label": {
			reason: "all that it tracks has it", labels: map[string]string{"kapp.k14s.io/app": "16105"},
			want: "kapp (application label 16105)"},
		"kapp is known by its annotation": {
			reason:      "the label was taken away",
			annotations: map[string]string{"kapp.k14s.io/identity": "v1;shop/ConfigMap/web"}, want: "kapp"},
		"An operator's installation is OLM's": {
			reason: "its owner isn't its controller",
			labels: map[string]string{"olm.owner": "etcd.v1", "olm.owner.kind": "ClusterServiceVersion",
				"olm.owner.namespace": "ops"},
			want: "Operator Lifecycle Manager (ClusterServiceVersion ops/etcd.v1)"},
		"An add-on that is reconciled is managed": {
			reason: "it is set back", labels: map[string]string{"addonmanager.kubernetes.io/mode": "Reconcile"},
			want: "the addon manager"},
		"An add-on that must only exist is not": {
			reason: "it is whoever's changes it",
			labels: map[string]string{"addonmanager.kubernetes.io/mode": "EnsureExists"}},
		"kpt names its inventory": {
			reason: "kpt live apply", annotations: map[string]string{"config.k8s.io/owning-inventory": "shop-1"},
			want: "kpt (inventory shop-1)"},
		"An ApplySet is managed": {
			reason: "kubectl apply --applyset",
			labels: map[string]string{"applyset.kubernetes.io/part-of": "applyset-x-v1"},
			want:   "an ApplySet (applyset-x-v1)"},
		"kro names its instance": {
			reason: "it is an ApplySet too",
			labels: map[string]string{"kro.run/instance-name": "web",
				"applyset.kubernetes.io/part-of": "applyset-x-v1"}, want: "kro (instance web)"},
		"What a ManifestWork applied is its agent's": {
			reason: "an owner that isn't the controller",
			owners: []metav1.OwnerReference{
				{APIVersion: "work.open-cluster-management.io/v1", Kind: "AppliedManifestWork", Name: "hub-web"}},
			want: "Open Cluster Management (AppliedManifestWork hub-web)"},
		"Another owner is no tool": {reason: "ownership has rules of its own",
			owners: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			object := &metav1.ObjectMeta{Labels: tc.labels, Annotations: tc.annotations, OwnerReferences: tc.owners}
			if manager, managed := (kube.Tools{}).ManagedBy(object); managed {
				got = manager.String()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nManagedBy: -want +got\n%s", tc.reason, diff)
			}
		})
	}
}
