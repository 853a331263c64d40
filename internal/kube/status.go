// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// StatusWriter writes an object's status once, at the end of a reconcile, and
// only when it has changed. It writes the whole status, zeros included, so that
// every printer column has a value; the write fails with a conflict when the
// object has changed since it was read.
type StatusWriter struct {
	client client.Client
	before client.Object
}

// NewStatusWriter remembers the object as it was read.
func NewStatusWriter(c client.Client, obj client.Object) *StatusWriter {
	return &StatusWriter{client: c, before: obj.DeepCopyObject().(client.Object)}
}

// Write writes the status of an object, unless nothing changed.
func (w *StatusWriter) Write(ctx context.Context, obj client.Object, fieldManager string) error {
	if equality.Semantic.DeepEqual(w.before, obj) {
		return nil
	}
	if err := w.client.Status().Update(ctx, obj, client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("write the status of %s: %w", obj.GetName(), err)
	}
	return nil
}
