package kube

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Manager is a tool that keeps an object in step with a source of its own. What
// we wrote to such an object, it would write back.
type Manager struct {
	// Tool is the tool's name, for example "Argo CD".
	Tool string
	// Source says where the tool takes the object from, as far as the object tells.
	Source string
}

// String is the tool with its source.
func (m Manager) String() string {
	if m.Source == "" {
		return m.Tool
	}
	return fmt.Sprintf("%s (%s)", m.Tool, m.Source)
}

// marker is a label or annotation by which a tool marks what it manages.
type marker struct {
	tool string
	read func(labels, annotations map[string]string) (source string, found bool)
}

// markers lists the tools in order of how sure their mark is, the one that takes
// the object from its source before the one that it uses to apply it.
func markers() []marker {
	return []marker{
		{"Argo CD", argoCD},
		{"Flux", namespacedLabel("kustomize.toolkit.fluxcd.io/namespace", "kustomize.toolkit.fluxcd.io/name", "Kustomization")},
		{"Flux", namespacedLabel("helm.toolkit.fluxcd.io/namespace", "helm.toolkit.fluxcd.io/name", "HelmRelease")},
		{"Config Sync", configSync},
		{"Helm", helm},
	}
}

// ManagedBy finds the tool that manages an object, by the marks that tools leave
// in labels and annotations.
func ManagedBy(obj metav1.Object) (Manager, bool) {
	labels, annotations := obj.GetLabels(), obj.GetAnnotations()
	for _, m := range markers() {
		if source, found := m.read(labels, annotations); found {
			return Manager{Tool: m.tool, Source: source}, true
		}
	}
	return Manager{}, false
}

// argoCD reads Argo CD's tracking annotation (APPLICATION:GROUP/KIND:NAMESPACE/NAME,
// see "Resource Tracking" in its user guide), or the label argocd.argoproj.io/instance
// that its guide recommends for tracking by label. The label app.kubernetes.io/instance
// is set by many charts too: alone it proves nothing, and beside the annotation
// it names the application where the annotation doesn't.
func argoCD(labels, annotations map[string]string) (string, bool) {
	tracking, tracked := annotations["argocd.argoproj.io/tracking-id"]
	name, _, named := strings.Cut(tracking, ":")
	switch label := labels["argocd.argoproj.io/instance"]; {
	case tracked && named && name != "":
		return argoApplication(name), true
	case label != "":
		return argoApplication(label), true
	case tracked && labels["app.kubernetes.io/instance"] != "":
		return argoApplication(labels["app.kubernetes.io/instance"]), true
	default:
		return tracking, tracked
	}
}

// argoApplication tells an application; one outside Argo CD's own namespace is
// written NAMESPACE_NAME in its marks.
func argoApplication(name string) string {
	return "application " + strings.Replace(name, "_", "/", 1)
}

func namespacedLabel(namespaceKey, nameKey, kind string) func(labels, _ map[string]string) (string, bool) {
	return func(labels, _ map[string]string) (string, bool) {
		name := labels[nameKey]
		return kind + " " + path(labels[namespaceKey], name), name != ""
	}
}

// helm reads what Helm itself writes. Its label alone proves nothing: templates
// carry it along when they are applied by hand.
func helm(labels, annotations map[string]string) (string, bool) {
	release := annotations["meta.helm.sh/release-name"]
	if release == "" || labels["app.kubernetes.io/managed-by"] != "Helm" {
		return "", false
	}
	return "release " + path(annotations["meta.helm.sh/release-namespace"], release), true
}

// configSync reads the annotation by which Config Sync says that it manages an
// object, or, where that is missing, what else it writes ("Labels and annotations
// managed by Config Sync" in its reference). Any value but enabled lets go of the object.
func configSync(labels, annotations map[string]string) (string, bool) {
	managed, said := annotations["configmanagement.gke.io/managed"]
	resource := annotations["configsync.gke.io/resource-id"]
	marked := labels["app.kubernetes.io/managed-by"] == "configmanagement.gke.io" ||
		labels["configsync.gke.io/declared-version"] != "" || resource != ""
	if said && managed != "enabled" || !said && !marked {
		return "", false
	}
	if name := labels["configmanagement.gke.io/sync-name"]; name != "" {
		return strings.TrimSpace(labels["configmanagement.gke.io/sync-kind"] + " " + path(labels["configmanagement.gke.io/sync-namespace"], name)), true
	}
	for _, key := range []string{"configmanagement.gke.io/source-path", "configsync.gke.io/manager"} {
		if annotations[key] != "" {
			return annotations[key], true
		}
	}
	return resource, true
}

// path is NAMESPACE/NAME, or the name where the namespace isn't known.
func path(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// OtherManager names the field manager, other than ours, that wrote an object
// last: "kubectl-patch, at 2026-01-02T15:04:05Z", or "somebody" where the object
// doesn't tell.
func OtherManager(obj metav1.Object, ours string) string {
	name, last := "somebody", metav1.Time{}
	for _, m := range obj.GetManagedFields() {
		if strings.HasPrefix(m.Manager, ours) || m.Subresource != "" || m.Time == nil || m.Time.Before(&last) {
			continue
		}
		name, last = fmt.Sprintf("%s, at %s", m.Manager, m.Time.UTC().Format("2006-01-02T15:04:05Z")), *m.Time
	}
	return name
}
