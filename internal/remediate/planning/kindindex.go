// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// listPage is the page size of metadata lists.
const listPage = 500

// kindIndex is the metadata of whole kinds, each listed once while a plan is
// being drafted: thousands of owners cost a few lists and not a read each.
type kindIndex struct {
	reader client.Reader
	kinds  map[schema.GroupVersionKind]*kindObjects
}

// kindObjects are the objects of one kind.
type kindObjects struct {
	byUID map[string]*metav1.PartialObjectMetadata
	byKey map[client.ObjectKey]*metav1.PartialObjectMetadata
}

func newKindIndex(reader client.Reader) *kindIndex {
	return &kindIndex{reader: reader, kinds: map[schema.GroupVersionKind]*kindObjects{}}
}

// of lists the metadata of a kind, past every cache.
func (x *kindIndex) of(ctx context.Context, gvk schema.GroupVersionKind) (*kindObjects, error) {
	if known := x.kinds[gvk]; known != nil {
		return known, nil
	}
	objects := &kindObjects{byUID: map[string]*metav1.PartialObjectMetadata{},
		byKey: map[client.ObjectKey]*metav1.PartialObjectMetadata{}}
	next := ""
	for {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := x.reader.List(ctx, list, client.Limit(listPage), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("list the metadata of %s: %w", gvk.Kind, err)
		}
		for i := range list.Items {
			item := &list.Items[i]
			objects.byUID[string(item.UID)], objects.byKey[client.ObjectKeyFromObject(item)] = item, item
		}
		if next = list.Continue; next == "" {
			x.kinds[gvk] = objects
			return objects, nil
		}
	}
}

// Get finds the metadata of one object: in the key's namespace, or cluster-scoped.
func (x *kindIndex) Get(ctx context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	meta, ok := out.(*metav1.PartialObjectMetadata)
	if !ok {
		return fmt.Errorf("owners are read by their metadata, not as %T", out)
	}
	gvk := meta.GroupVersionKind()
	objects, err := x.of(ctx, gvk)
	if err != nil {
		return err
	}
	for _, k := range []client.ObjectKey{key, {Name: key.Name}} {
		if found := objects.byKey[k]; found != nil {
			found.DeepCopyInto(meta)
			meta.SetGroupVersionKind(gvk)
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.Name)
}
