// SPDX-License-Identifier: Apache-2.0

package fixtest

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Owner is an entry of managedFields, so many seconds after the start.
func Owner(manager, subresource, fields string, at int) metav1.ManagedFieldsEntry {
	then := metav1.NewTime(Now.Add(time.Duration(at) * time.Second))
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1",
		Subresource: subresource,
		Time:        &then, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
}

// Holding is an object "web" with data, held by some field managers.
func Holding(data map[string]any, kind string, entries ...metav1.ManagedFieldsEntry) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind, "data": data}}
	obj.SetName("web")
	obj.SetUID("u1")
	obj.SetManagedFields(entries)
	return obj
}
