// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// read reads a breaker. One whose spec can't be read is an error.
func read(ctx context.Context, reader client.Reader, name string) (*v1alpha1.RemediationBreaker, error) {
	cb := &v1alpha1.RemediationBreaker{}
	if err := reader.Get(ctx, client.ObjectKey{Name: name}, cb); err != nil {
		return nil, err
	}
	if why := v1alpha1.Malformed(cb); why != "" {
		return nil, fmt.Errorf("breaker %s can't be read, so nothing passes it: %s", name, why)
	}
	return cb, nil
}

// readAll lists the breakers.
func readAll(ctx context.Context, reader client.Reader) ([]v1alpha1.RemediationBreaker, error) {
	all := &v1alpha1.RemediationBreakerList{}
	if err := reader.List(ctx, all); err != nil {
		return nil, fmt.Errorf("list circuit breakers: %w", err)
	}
	return all.Items, nil
}

func namespaceExists(ctx context.Context, reader client.Reader, name string) (bool, error) {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := reader.Get(ctx, client.ObjectKey{Name: name}, namespace)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read namespace %s: %w", name, err)
	}
	return !apierrors.IsNotFound(err), nil
}
