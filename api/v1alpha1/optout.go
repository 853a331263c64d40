// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// OptsOut says whether an object, or a namespace for the objects in it, opts out of remediation.
func OptsOut(obj metav1.Object) bool {
	return obj.GetAnnotations()[AnnotationRemediation] == RemediationPaused
}

// IneffectiveOptOut says why an object doesn't opt out though it seems meant to, and what to do;
// empty when nothing seems meant.
func IneffectiveOptOut(obj metav1.Object) string {
	right := fmt.Sprintf("the annotation %s must be %q to keep remediation off", AnnotationRemediation,
		RemediationPaused)
	if value, there := obj.GetAnnotations()[AnnotationRemediation]; there && value != RemediationPaused {
		return fmt.Sprintf("%s, and any other value has no effect: it is %.64q", right, value)
	}
	if value, there := obj.GetLabels()[AnnotationRemediation]; there && !OptsOut(obj) {
		return fmt.Sprintf("%s, and a label of that name has no effect: its value is %.64q", right, value)
	}
	return ""
}

// OptOutCommand is the command by which an object opts out of remediation.
func (r ObjectReference) OptOutCommand() string {
	kind := schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
	resource := strings.ToLower(kind.Kind)
	if kind.Group != "" {
		resource += "." + kind.Version + "." + kind.Group
	}
	command := fmt.Sprintf("kubectl annotate %s %s %s=%s", resource, r.Name, AnnotationRemediation, RemediationPaused)
	if r.Namespace != "" {
		command += " -n " + r.Namespace
	}
	return command
}
