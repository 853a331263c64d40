// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"

	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// Referenced reads once what policies refer to, in the whole cluster, whatever the walk is limited to. A
// kind that can't be read is unknown to whoever asks for it: that is no error. One is that the context
// ended, or that the cluster can't be asked which kinds it serves.
func (w *Walk) Referenced(ctx context.Context, references map[string]inventory.Reference) (*inventory.Fixed, error) {
	cached := memory.NewMemCacheClient(w.Discovery)
	if _, _, err := cached.ServerGroupsAndResources(); err != nil && !isPartial(err) {
		return nil, fmt.Errorf("ask the cluster which kinds it serves: %w", err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(cached)
	var objects []map[string]any
	unknown := map[schema.GroupKind]error{}
	var preferred []schema.GroupVersionKind
	read := map[schema.GroupVersionResource]bool{}
	for _, r := range references {
		gk := schema.GroupKind{Group: r.Group, Kind: r.Kind}
		var versions []string
		if r.Version != "" {
			versions = append(versions, r.Version)
		}
		mapping, err := mapper.RESTMapping(gk, versions...)
		if err != nil {
			unknown[gk] = &KindError{Kind: gk, Version: r.Version, Err: err, Field: ReferencesField}
			continue
		}
		if r.Version == "" {
			preferred = append(preferred, mapping.GroupVersionKind)
		}
		if read[mapping.Resource] {
			continue
		}
		read[mapping.Resource] = true
		found, err := w.all(ctx, mapping)
		if err != nil {
			unknown[gk] = &KindError{Kind: gk, Resource: mapping.Resource.GroupResource(), Err: err,
				Field: ReferencesField}
		}
		objects = append(objects, found...)
	}
	found := inventory.NewFixed(objects, unknown)
	for _, gvk := range preferred {
		found.Prefer(gvk)
	}
	return found, ctx.Err()
}

// ReferencesField is where policies name the kinds that their rules look up.
const ReferencesField = "spec.match.references"

func isPartial(err error) bool {
	var partial *discovery.ErrGroupDiscoveryFailed
	return errors.As(err, &partial)
}

func (w *Walk) all(ctx context.Context, mapping *meta.RESTMapping) (objects []map[string]any, err error) {
	_, err = eachPage(ctx, w.Client.Resource(mapping.Resource), metav1.ListOptions{Limit: w.page()},
		func(list *unstructured.UnstructuredList) bool {
			for i := range list.Items {
				list.Items[i].SetGroupVersionKind(mapping.GroupVersionKind)
				objects = append(objects, list.Items[i].Object)
			}
			return true
		})
	return objects, err
}
