// SPDX-License-Identifier: Apache-2.0

package format

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/internal/check"
)

// object is a result's object as unstructured content, for its accessors.
func object(r *check.Result) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: r.Object}
}

// nameOf is the name, or the prefix of the one that the server is to make up.
func nameOf(o *unstructured.Unstructured) string {
	if o.GetName() == "" && o.GetGenerateName() != "" {
		return o.GetGenerateName() + "*"
	}
	return o.GetName()
}

// resourceName calls the object as kubectl does with -o name, by its kind.
func resourceName(r *check.Result) string {
	o := object(r)
	gvk := o.GroupVersionKind()
	kind := strings.ToLower(gvk.Kind)
	if gvk.Group != "" {
		kind += "." + gvk.Group
	}
	return fmt.Sprintf("%s/%s", kind, nameOf(o))
}
