// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"
)

// GroupKind names a kind whatever its version.
type GroupKind struct{ Group, Kind string }

// GroupKind drops the version.
func (g GroupVersionKind) GroupKind() GroupKind { return GroupKind{Group: g.Group, Kind: g.Kind} }

// String writes the kind as people read it: "apps/Deployment", "Pod".
func (g GroupKind) String() string {
	if g.Group == "" {
		return g.Kind
	}
	return g.Group + "/" + g.Kind
}

// NamespaceKind is the kind of namespaces, which are in none.
func NamespaceKind() GroupKind { return GroupKind{Kind: "Namespace"} }

// PodKind is the kind whose rules reach pod templates too.
func PodKind() GroupKind { return GroupKind{Kind: "Pod"} }

// PodTemplateKinds are the workload kinds of Kubernetes that hold a pod template,
// sorted by group and kind.
func PodTemplateKinds() []GroupKind {
	return []GroupKind{
		{Kind: "ReplicationController"},
		{Group: "apps", Kind: "DaemonSet"},
		{Group: "apps", Kind: "Deployment"},
		{Group: "apps", Kind: "ReplicaSet"},
		{Group: "apps", Kind: "StatefulSet"},
		{Group: "batch", Kind: "CronJob"},
		{Group: "batch", Kind: "Job"},
	}
}

// TemplatePath is the JSON Pointer of the pod template within an object of the
// kind. It is false for kinds that hold none, the Pod itself among them.
func TemplatePath(kind GroupKind) (string, bool) {
	if !slices.Contains(PodTemplateKinds(), kind) {
		return "", false
	}
	if kind.Kind == "CronJob" {
		return "/spec/jobTemplate/spec/template", true
	}
	return "/spec/template", true
}

// FieldAt is what stands at such a pointer, whose fields' names need no escapes; nil where there is nothing.
func FieldAt(object map[string]any, pointer string) any {
	var value any = object
	for field := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		fields, _ := value.(map[string]any)
		value = fields[field]
	}
	return value
}

// ReachedByTemplate says that a rule which names the given kinds concerns kind
// only because it concerns Pods: kind holds a pod template, Pod is named, kind is
// not.
func ReachedByTemplate(named []GroupKind, kind GroupKind) bool {
	_, holdsTemplate := TemplatePath(kind)
	return holdsTemplate && slices.Contains(named, PodKind()) && !slices.Contains(named, kind)
}
