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

// markers lists the tools in order of how sure their mark is. The keys are those
// that the tools document: Argo CD "resource tracking", Flux kustomize-controller
// and helm-controller labels, Helm's release annotations, Config Sync's
// resource-id annotation.
func markers() []marker {
	return []marker{
		{"Argo CD", annotation("argocd.argoproj.io/tracking-id")},
		{"Argo CD", label("argocd.argoproj.io/instance")},
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

func annotation(key string) func(_, annotations map[string]string) (string, bool) {
	return func(_, annotations map[string]string) (string, bool) {
		value := annotations[key]
		return value, value != ""
	}
}

func label(key string) func(labels, _ map[string]string) (string, bool) {
	return func(labels, _ map[string]string) (string, bool) {
		value := labels[key]
		return value, value != ""
	}
}

func namespacedLabel(namespaceKey, nameKey, kind string) func(labels, _ map[string]string) (string, bool) {
	return func(labels, _ map[string]string) (string, bool) {
		name := labels[nameKey]
		return strings.TrimSpace(kind + " " + labels[namespaceKey] + "/" + name), name != ""
	}
}

func helm(labels, annotations map[string]string) (string, bool) {
	release := annotations["meta.helm.sh/release-name"]
	if release == "" || labels["app.kubernetes.io/managed-by"] != "Helm" {
		return "", false
	}
	return "release " + annotations["meta.helm.sh/release-namespace"] + "/" + release, true
}

func configSync(_, annotations map[string]string) (string, bool) {
	if annotations["configmanagement.gke.io/managed"] != "enabled" {
		return "", false
	}
	return annotations["configsync.gke.io/resource-id"], true
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

// ControllerOf describes the controller that owns an object: "ReplicaSet web-7d4b".
func ControllerOf(obj metav1.Object) (string, bool) {
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil {
		return "", false
	}
	return ref.Kind + " " + ref.Name, true
}
