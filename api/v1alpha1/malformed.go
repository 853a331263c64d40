// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AnnotationMalformed says of an object, as it is read from a list or a watch, why what
// is stored isn't of its kind's form. Such an object has no spec, and a status only where that can
// be read. The annotation is never stored, and says nothing where it is.
// On: all kinds, as they are read. By: the manager and the commands, in memory.
const AnnotationMalformed = "evenkeel.dev/malformed"

// Malformed says why an object that was read isn't of its kind's form; empty when it is.
func Malformed(obj metav1.Object) string { return obj.GetAnnotations()[AnnotationMalformed] }
