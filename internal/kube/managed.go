// SPDX-License-Identifier: Apache-2.0

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

// Tools finds the tool that keeps an object in step with a source of its own. The
// zero value knows the marks that the tools' documentation has; the fields are what
// an administrator says of a cluster besides.
type Tools struct {
	// InstanceLabels are keys of labels by which an Argo CD tracks its objects
	// (application.instanceLabelKey of its ConfigMap argocd-cm), besides
	// argocd.argoproj.io/instance. An object with one of them is an application's,
	// whoever wrote it.
	InstanceLabels []string
	// FieldManagers are names of field managers that write back what others change,
	// besides those of the tools that are known.
	FieldManagers []string
}

// ManagedBy finds the tool that manages an object: by the marks that tools leave in
// labels, annotations and owners, or else by the field managers that wrote it, for a
// mark can be configured, be taken away, or not be there yet.
func (t Tools) ManagedBy(obj metav1.Object) (Manager, bool) {
	marked := marks{labels: obj.GetLabels(), annotations: obj.GetAnnotations(), owners: obj.GetOwnerReferences()}
	for _, key := range t.InstanceLabels {
		if name := marked.labels[key]; name != "" {
			return Manager{Tool: toolArgoCD, Source: argoApplication(name)}, true
		}
	}
	for _, m := range markers() {
		if source, found := m.read(marked); found {
			return Manager{Tool: m.tool, Source: source}, true
		}
	}
	return t.wrote(obj)
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
