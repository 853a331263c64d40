// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Namespaces finds the Namespace objects that policies select by.
type Namespaces interface {
	// Get returns a Namespace, or nil when there is none of that name. An error
	// means that it isn't known; the caller must not take it for absence, or a
	// policy with a namespaceSelector would silently not apply.
	Get(ctx context.Context, name string) (map[string]any, error)
}

// unreadNamespaceError says that nothing could be judged since the Namespace couldn't be read. It passes without a
// change of a policy or of the object.
type unreadNamespaceError struct{ err error }

func (e *unreadNamespaceError) Error() string { return e.err.Error() }

func (e *unreadNamespaceError) Unwrap() error { return e.err }

// CachedNamespaces reads from a cache, and from the API server what the cache
// doesn't have: a namespace that was made a moment ago may be in use already.
type CachedNamespaces struct {
	cached, live client.Reader
}

// NewCachedNamespaces takes the manager's cached and its uncached reader.
func NewCachedNamespaces(cached, live client.Reader) *CachedNamespaces {
	return &CachedNamespaces{cached: cached, live: live}
}

// Watch makes the cache watch namespaces from its start, so that the first request
// doesn't wait for it.
func (n *CachedNamespaces) Watch(ctx context.Context, in cache.Informers) error {
	if _, err := in.GetInformer(ctx, newNamespace()); err != nil {
		return fmt.Errorf("watching namespaces: %w", err)
	}
	return nil
}

// Get implements Namespaces.
func (n *CachedNamespaces) Get(ctx context.Context, name string) (map[string]any, error) {
	object, err := getNamespace(ctx, n.cached, name)
	if apierrors.IsNotFound(err) {
		object, err = getNamespace(ctx, n.live, name)
	}
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading namespace %s: %w", name, err)
	}
	return object, nil
}

func getNamespace(ctx context.Context, from client.Reader, name string) (map[string]any, error) {
	ns := newNamespace()
	if err := from.Get(ctx, client.ObjectKey{Name: name}, ns); err != nil {
		return nil, err
	}
	return ns.Object, nil
}

func newNamespace() *unstructured.Unstructured {
	ns := &unstructured.Unstructured{}
	ns.SetAPIVersion("v1")
	ns.SetKind("Namespace")
	return ns
}
