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

	mu   sync.Mutex
	read map[memoKey]*metav1.PartialObjectMetadata
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
	m.mu.Lock()
	known := m.read[k]
	m.mu.Unlock()
	if known != nil {
		known.DeepCopyInto(meta)
		return nil
	}
	if err := m.Reader.Get(ctx, key, meta, opts...); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.read == nil {
		m.read = map[memoKey]*metav1.PartialObjectMetadata{}
	}
	m.read[k] = meta.DeepCopy()
	return nil
}
