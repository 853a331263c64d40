// SPDX-License-Identifier: Apache-2.0

package kube

import "strings"

// sveltos reads what Sveltos puts on what it deploys: the profile as an annotation,
// and the object that held the manifest, which earlier versions put in labels.
func sveltos(m marks) (string, bool) {
	if name := m.annotations["projectsveltos.io/owner-name"]; name != "" {
		return strings.TrimSpace(m.annotations["projectsveltos.io/owner-kind"] + " " + name), true
	}
	for _, at := range []map[string]string{m.annotations, m.labels} {
		if name := at["projectsveltos.io/reference-name"]; name != "" {
			return strings.TrimSpace(at["projectsveltos.io/reference-kind"] + " " +
				path(at["projectsveltos.io/reference-namespace"], name)), true
		}
	}
	return "", false
}

// openClusterManagement knows what an agent applied from a ManifestWork: the agent's
// AppliedManifestWork is among its owners, but isn't its controller.
func openClusterManagement(m marks) (string, bool) {
	for _, owner := range m.owners {
		if strings.HasPrefix(owner.APIVersion, "work.open-cluster-management.io/") &&
			owner.Kind == "AppliedManifestWork" {
			return "AppliedManifestWork " + owner.Name, true
		}
	}
	return "", false
}

// rancher reads the marks of an object set, which Fleet, k3s and RKE2 put on all that
// they apply from a bundle or a directory: the set's owner where it has one, else its name.
func rancher(m marks) (string, bool) {
	const prefix = "objectset.rio.cattle.io/"
	set, named := m.annotations[prefix+"id"]
	_, hashed := m.labels[prefix+"hash"]
	if owner := m.annotations[prefix+"owner-name"]; owner != "" {
		_, kind, _ := strings.Cut(m.annotations[prefix+"owner-gvk"], "Kind=")
		return strings.TrimSpace(kind + " " + path(m.annotations[prefix+"owner-namespace"], owner)), true
	}
	if set != "" {
		return "bundle " + set, true
	}
	return "", named || hashed
}

// kapp reads the labels and the annotation that kapp puts on an application's objects.
func kapp(m marks) (string, bool) {
	if app := m.labels["kapp.k14s.io/app"]; app != "" {
		return "application label " + app, true
	}
	_, associated := m.labels["kapp.k14s.io/association"]
	_, identified := m.annotations["kapp.k14s.io/identity"]
	return "", associated || identified
}

// operatorLifecycle reads the labels of what an operator's installation consists of.
// Its ClusterServiceVersion is an owner, but not the controller.
func operatorLifecycle(m marks) (string, bool) {
	owner := m.labels["olm.owner"]
	kind := m.labels["olm.owner.kind"]
	return strings.TrimSpace(kind + " " + path(m.labels["olm.owner.namespace"], owner)), owner != "" && kind != ""
}

// addonManager reads the mode of a cluster's add-on: what is reconciled is set back
// within a minute; what must only exist belongs to whoever changes it.
func addonManager(m marks) (string, bool) {
	return "", m.labels["addonmanager.kubernetes.io/mode"] == "Reconcile"
}

// inventory reads the annotation by which kpt and others that apply with an inventory
// know what is theirs.
func inventory(m marks) (string, bool) {
	owner := m.annotations["config.k8s.io/owning-inventory"]
	return "inventory " + owner, owner != "" && !letGo(m.annotations)
}

// applySet reads the label of what was applied, and is pruned, as a set.
func applySet(m marks) (string, bool) {
	set := m.labels["applyset.kubernetes.io/part-of"]
	return set, set != "" && !letGo(m.annotations)
}

// label is a tool whose label names the source.
func label(key, before string) func(marks) (string, bool) {
	return func(m marks) (string, bool) { return before + m.labels[key], m.labels[key] != "" }
}
