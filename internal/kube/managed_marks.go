// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The names of the tools, as messages give them.
const (
	toolArgoCD     = "Argo CD"
	toolFlux       = "Flux"
	toolConfigSync = "Config Sync"
	toolHelm       = "Helm"
)

// marks are the places of an object in which tools leave their marks.
type marks struct {
	labels, annotations map[string]string
	owners              []metav1.OwnerReference
}

// marker is how a tool marks what it manages.
type marker struct {
	tool string
	read func(marks) (source string, found bool)
}

// markers lists the tools in order of how sure their mark is, the one that takes
// the object from its source before the one that it uses to apply it.
func markers() []marker {
	return []marker{
		{toolArgoCD, argoCD},
		{toolFlux, flux("kustomize.toolkit.fluxcd.io", "Kustomization")},
		{toolFlux, flux("helm.toolkit.fluxcd.io", "HelmRelease")},
		{toolConfigSync, configSync},
		{"Sveltos", sveltos},
		{"Open Cluster Management", openClusterManagement},
		{"Rancher", rancher},
		{"kapp", kapp},
		{"Operator Lifecycle Manager", operatorLifecycle},
		{"the addon manager", addonManager},
		{toolHelm, helm},
		{"kro", label("kro.run/instance-name", "instance ")},
		{"kpt", inventory},
		{"an ApplySet", applySet},
	}
}

// argoCD reads Argo CD's tracking annotation (APPLICATION:GROUP/KIND:NAMESPACE/NAME,
// see "Resource Tracking" in its user guide), the annotation by which one of several
// installations knows its own, or the label argocd.argoproj.io/instance that its guide
// recommends for tracking by label. The label app.kubernetes.io/instance, by which
// Argo CD tracks unless told otherwise before its version 3, is set by many charts too:
// alone it proves nothing, and beside another proof it names the application.
func argoCD(m marks) (string, bool) {
	labels, annotations := m.labels, m.annotations
	tracking, tracked := annotations["argocd.argoproj.io/tracking-id"]
	name, _, named := strings.Cut(tracking, ":")
	_, installed := annotations["argocd.argoproj.io/installation-id"]
	switch label := labels["argocd.argoproj.io/instance"]; {
	case tracked && named && name != "":
		return argoApplication(name), true
	case label != "":
		return argoApplication(label), true
	case tracked && labels["app.kubernetes.io/instance"] != "":
		return argoApplication(labels["app.kubernetes.io/instance"]), true
	default:
		return tracking, tracked || installed
	}
}

// argoApplication tells an application; one outside Argo CD's own namespace is
// written NAMESPACE_NAME in its marks.
func argoApplication(name string) string {
	return "application " + strings.Replace(name, "_", "/", 1)
}

// flux reads the labels by which a controller of Flux marks all that it applies. One
// of the two is enough: somebody took the other away.
func flux(group, kind string) func(marks) (string, bool) {
	return func(m marks) (string, bool) {
		name, namespace := m.labels[group+"/name"], m.labels[group+"/namespace"]
		if name == "" && namespace != "" {
			return kind + " of namespace " + namespace, true
		}
		return kind + " " + path(namespace, name), name != ""
	}
}

// helm reads what Helm itself writes. Its label alone proves nothing: templates
// carry it along when they are applied by hand.
func helm(m marks) (string, bool) {
	labels, annotations := m.labels, m.annotations
	release := annotations["meta.helm.sh/release-name"]
	if release == "" || labels["app.kubernetes.io/managed-by"] != "Helm" {
		return "", false
	}
	return "release " + path(annotations["meta.helm.sh/release-namespace"], release), true
}

// configSync reads the annotation by which Config Sync says that it manages an
// object, or, where that is missing, what else it writes ("Labels and annotations
// managed by Config Sync" in its reference). Any value but enabled lets go of the object.
func configSync(m marks) (string, bool) {
	labels, annotations := m.labels, m.annotations
	_, said := annotations["configmanagement.gke.io/managed"]
	resource := annotations["configsync.gke.io/resource-id"]
	marked := labels["app.kubernetes.io/managed-by"] == "configmanagement.gke.io" ||
		labels["configsync.gke.io/declared-version"] != "" || resource != ""
	if letGo(annotations) || !said && !marked {
		return "", false
	}
	if name := labels["configmanagement.gke.io/sync-name"]; name != "" {
		return strings.TrimSpace(labels["configmanagement.gke.io/sync-kind"] + " " +
			path(labels["configmanagement.gke.io/sync-namespace"], name)), true
	}
	for _, key := range []string{"configmanagement.gke.io/source-path", "configsync.gke.io/manager"} {
		if annotations[key] != "" {
			return annotations[key], true
		}
	}
	return resource, true
}

// letGo says whether Config Sync was told to manage an object no longer: what it left
// behind proves nothing then.
func letGo(annotations map[string]string) bool {
	managed, said := annotations["configmanagement.gke.io/managed"]
	return said && managed != "enabled"
}

// path is NAMESPACE/NAME, or the name where the namespace isn't known.
func path(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
