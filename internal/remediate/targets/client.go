// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/limits"
)

const (
	// firstBackoff doubles with each try that ends in a transient error.
	firstBackoff = time.Second
	// MaxBackoff is the longest wait between two tries.
	MaxBackoff = time.Minute
)

// Client reads and writes the objects to fix. Reads never come from a cache.
// One is made for each reconcile: it remembers namespaces and owners, and nothing else.
type Client struct {
	Reader client.Reader
	Writer objectWriter
	Mapper meta.RESTMapper
	Clock  clock.PassiveClock
	// Tools finds the tools that manage objects.
	Tools kube.Tools
	// Reach is what fixes may write.
	Reach limits.Reach
	// Annotate has each fix that is written name its plan at the object.
	Annotate bool

	// namespaces holds, by name, a function that reads the Namespace once.
	namespaces sync.Map

	Owners OwnerMemo
}

// objectWriter is all that a write, its dry run and its undoing ask of the API server.
type objectWriter interface {
	Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error
	Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error
	Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error
	SubResource(subResource string) client.SubResourceClient
}

// Read reads an object anew from the API server.
func (t *Client) Read(ctx context.Context, ref v1alpha1.ObjectReference) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
	err := t.Reader.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, obj)
	return obj, err
}

// NamespaceOf reads the Namespace that an object lives in; nil for a
// cluster-scoped object.
func (t *Client) NamespaceOf(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if obj.GetNamespace() == "" {
		return nil, nil
	}
	name := obj.GetNamespace()
	once, _ := t.namespaces.LoadOrStore(name, sync.OnceValues(func() (*unstructured.Unstructured, error) {
		return t.Read(ctx, v1alpha1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: name})
	}))
	namespace, err := once.(func() (*unstructured.Unstructured, error))()
	if err != nil {
		t.namespaces.Delete(name)
		return nil, err
	}
	return namespace, nil
}

// Backoff is the wait before the next try.
func (t *Client) Backoff(attempts int32) time.Duration {
	wait := firstBackoff
	for range attempts {
		if wait *= 2; wait >= MaxBackoff {
			return MaxBackoff
		}
	}
	return wait
}
