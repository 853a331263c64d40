// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fieldManager is a name under which a tool writes the objects of its source.
type fieldManager struct {
	name, tool string
	// group is the API group of the tool's own objects, or its suffix: the tool writes
	// to those as their controller, which says nothing about where they come from.
	group string
}

// fieldManagers lists the names: Argo CD's for server-side apply, and that of its
// controller, which is the name in requests that don't give one; those of Flux,
// which are the names of its controllers; Config Sync's; that of Amazon EKS, which
// keeps the fields of an add-on as they were; the agent of Open Cluster Management.
func fieldManagers() []fieldManager {
	return []fieldManager{
		{"argocd-controller", toolArgoCD, "argoproj.io"},
		{"argocd-application-controller", toolArgoCD, "argoproj.io"},
		{"kustomize-controller", toolFlux, "toolkit.fluxcd.io"},
		{"helm-controller", toolFlux, "toolkit.fluxcd.io"},
		{"configsync", toolConfigSync, "configsync.gke.io"},
		{"configsync.gke.io", toolConfigSync, "configsync.gke.io"},
		{"eks", "Amazon EKS", "eks.amazonaws.com"},
		{"work-agent", "Open Cluster Management", "open-cluster-management.io"},
	}
}

func (t Tools) wrote(obj metav1.Object) (Manager, bool) {
	for _, entry := range obj.GetManagedFields() {
		if entry.Subresource != "" {
			continue
		}
		if slices.Contains(t.FieldManagers, entry.Manager) && declares(entry) {
			return Manager{Tool: entry.Manager, Source: "its field manager"}, true
		}
		for _, known := range fieldManagers() {
			if entry.Manager == known.name && !ownGroup(entry.APIVersion, known.group) && declares(entry) &&
				!(known.tool == toolConfigSync && letGo(obj.GetAnnotations())) {
				return known.of(obj, entry), true
			}
		}
	}
	return Manager{}, false
}

// of is the tool, with the application where a label names it beside the field manager.
func (f fieldManager) of(obj metav1.Object, entry metav1.ManagedFieldsEntry) Manager {
	if name := obj.GetLabels()["app.kubernetes.io/instance"]; f.tool == toolArgoCD && name != "" {
		return Manager{Tool: f.tool, Source: argoApplication(name)}
	}
	return Manager{Tool: f.tool, Source: "field manager " + entry.Manager}
}

func ownGroup(apiVersion, group string) bool {
	own, _, _ := strings.Cut(apiVersion, "/")
	return own == group || strings.HasSuffix(own, "."+group)
}

// declares says whether an entry holds anything that comes from a source. Finalizers,
// owners and a status are what a controller writes to objects that aren't its own.
// An entry that can't be read counts: unknown is never a permission.
func declares(entry metav1.ManagedFieldsEntry) bool {
	if entry.FieldsV1 == nil {
		return true
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
		return true
	}
	var metadata map[string]json.RawMessage
	if raw, found := fields["f:metadata"]; found && json.Unmarshal(raw, &metadata) != nil {
		return true
	}
	return othersThan(fields, "f:status", "f:metadata") ||
		othersThan(metadata, "f:finalizers", "f:ownerReferences", ".")
}

func othersThan(fields map[string]json.RawMessage, named ...string) bool {
	for name := range fields {
		if !slices.Contains(named, name) {
			return true
		}
	}
	return false
}
