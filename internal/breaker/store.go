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
	"evenkeel.dev/evenkeel/internal/kube"
)

// Reader reads circuit breakers. Reading one that isn't there is a
// NotFound error of the API.
type Reader interface {
	Get(ctx context.Context, name string) (*v1alpha1.RemediationBreaker, error)
	All(ctx context.Context) ([]v1alpha1.RemediationBreaker, error)
}

// Store keeps the circuit breakers, and reads them past every cache.
type Store interface {
	Reader
	Create(ctx context.Context, cb *v1alpha1.RemediationBreaker) error
	// WriteStatus conflicts when the breaker was written since it was read.
	WriteStatus(ctx context.Context, before, cb *v1alpha1.RemediationBreaker) error
	// Remove conflicts like WriteStatus.
	Remove(ctx context.Context, cb *v1alpha1.RemediationBreaker) error
}

// breakersIn reads the breakers of the API server, or of a cache of it.
type breakersIn struct{ reader client.Reader }

func (r breakersIn) Get(ctx context.Context, name string) (*v1alpha1.RemediationBreaker, error) {
	cb := &v1alpha1.RemediationBreaker{}
	if err := r.reader.Get(ctx, client.ObjectKey{Name: name}, cb); err != nil {
		return cb, err
	}
	if why := v1alpha1.Malformed(cb); why != "" {
		return cb, fmt.Errorf("breaker %s can't be read, so nothing passes it: %s", name, why)
	}
	return cb, nil
}

func (r breakersIn) All(ctx context.Context) ([]v1alpha1.RemediationBreaker, error) {
	all := &v1alpha1.RemediationBreakerList{}
	if err := r.reader.List(ctx, all); err != nil {
		return nil, fmt.Errorf("list circuit breakers: %w", err)
	}
	return all.Items, nil
}

// NewReader reads the breakers that a reader knows.
func NewReader(reader client.Reader) Reader { return breakersIn{reader} }

// NewStore keeps the breakers in the API server. The reader must not be a cache.
func NewStore(reader client.Reader, writer client.Client) Store {
	return clusterBreakers{breakersIn{reader}, writer}
}

// clusterBreakers keeps the breakers in the API server.
type clusterBreakers struct {
	breakersIn
	client client.Client
}

func (s clusterBreakers) Create(ctx context.Context, cb *v1alpha1.RemediationBreaker) error {
	return s.client.Create(ctx, cb, client.FieldOwner(v1alpha1.FieldManager))
}

func (s clusterBreakers) WriteStatus(ctx context.Context, before, cb *v1alpha1.RemediationBreaker) error {
	return kube.NewStatusWriter(s.client, before).Write(ctx, cb, v1alpha1.FieldManager)
}

func (s clusterBreakers) Remove(ctx context.Context, cb *v1alpha1.RemediationBreaker) error {
	return s.client.Delete(ctx, cb, client.Preconditions{UID: &cb.UID, ResourceVersion: &cb.ResourceVersion})
}

// NamespaceExists asks the API server, past every cache, whether a namespace is there.
func NamespaceExists(reader client.Reader) func(context.Context, string) (bool, error) {
	return func(ctx context.Context, name string) (bool, error) {
		namespace := &metav1.PartialObjectMetadata{}
		namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		err := reader.Get(ctx, client.ObjectKey{Name: name}, namespace)
		if client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("read namespace %s: %w", name, err)
		}
		return !apierrors.IsNotFound(err), nil
	}
}
