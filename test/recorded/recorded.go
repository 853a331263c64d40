// SPDX-License-Identifier: Apache-2.0

// Package recorded gives objects of tests the record of requests that admission keeps.
package recorded

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Requests has an object record the requests given, and no others.
func Requests(obj metav1.Object, requests ...v1alpha1.RequestRecord) {
	annotations := map[string]string{v1alpha1.AnnotationRequests: Lines(requests...)}
	for key, value := range obj.GetAnnotations() {
		if key != v1alpha1.AnnotationRequests {
			annotations[key] = value
		}
	}
	obj.SetAnnotations(annotations)
}

// Lines are requests as the annotation has them.
func Lines(requests ...v1alpha1.RequestRecord) string {
	lines := make([]string, len(requests))
	for i := range requests {
		lines[i] = requests[i].Line()
	}
	return strings.Join(lines, "\n")
}
