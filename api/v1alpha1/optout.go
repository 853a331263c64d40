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

// OptOutCommand is the command by which an object opts out of remediation, to be pasted into a shell: names of
// some kinds may hold anything but a slash and a percent sign.
func (r ObjectReference) OptOutCommand() string {
	kind := schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
	resource := strings.ToLower(kind.Kind)
	if kind.Group != "" {
		resource += "." + kind.Version + "." + kind.Group
	}
	command := fmt.Sprintf("kubectl annotate %s %s %s=%s", resource, quoted(r.Name), AnnotationRemediation,
		RemediationPaused)
	if r.Namespace != "" {
		command += " -n " + quoted(r.Namespace)
	}
	return command
}

// quoted is a word for a shell, in single quotes unless it needs none.
func quoted(word string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-._:", r)
	}
	if word != "" && !strings.HasPrefix(word, "-") &&
		strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
