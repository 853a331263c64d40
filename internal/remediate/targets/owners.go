// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// OwnerMemo reads owners' metadata, each once in a reconcile: the Pods of one
// ReplicaSet have the same.
type OwnerMemo struct {
	Reader client.Reader

	read sync.Map // of *metav1.PartialObjectMetadata, by memoKey
}

type memoKey struct {
	kind schema.GroupVersionKind
	client.ObjectKey
}

// Get reads the metadata of an owner.
func (m *OwnerMemo) Get(ctx context.Context, key client.ObjectKey, out client.Object, opts ...client.GetOption) error {
	meta, ok := out.(*metav1.PartialObjectMetadata)
	if !ok {
		return fmt.Errorf("owners are read by their metadata, not as %T", out)
	}
	k := memoKey{meta.GroupVersionKind(), key}
	if known, is := m.read.Load(k); is {
		known.(*metav1.PartialObjectMetadata).DeepCopyInto(meta)
		return nil
	}
	if err := m.Reader.Get(ctx, key, meta, opts...); err != nil {
		return err
	}
	m.read.Store(k, meta.DeepCopy())
	return nil
}
