// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"context"
	"hash/fnv"
	"time"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// resourceReader lists and watches one resource.
type resourceReader interface {
	List(ctx context.Context, opts metav1.ListOptions) (*unstructured.UnstructuredList, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

// ListWatch reads a resource for a reflector. The reflector streams the first
// list over a watch where the server can; where it can't, list reads page by
// page and judges each page, object by object, so that never more than one page of bodies is held.
// onWatch is told how every attempt to watch ended; initial says that it was to
// bring the first list.
func ListWatch[T runtime.Object](r resourceReader, pageSize int64, judge func(any) (T, error),
	onWatch func(initial bool, err error)) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			return listJudged(ctx, r, pageSize, judge)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			w, err := r.Watch(ctx, opts)
			onWatch(opts.SendInitialEvents != nil && *opts.SendInitialEvents, err)
			return w, err
		},
	}
}

// listJudged reads every page. A list that expires between two pages fails as a
// whole, and is tried again from its start.
func listJudged[T runtime.Object](ctx context.Context, r resourceReader, pageSize int64, judge func(any) (T, error)) (
	runtime.Object, error) {
	out := &metainternalversion.List{}
	opts := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := r.List(ctx, opts)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			j, err := judge(&page.Items[i])
			if err != nil {
				return nil, err
			}
			out.Items = append(out.Items, j)
		}
		opts.Continue = page.GetContinue()
		if opts.Continue == "" {
			out.SetResourceVersion(page.GetResourceVersion())
			return out, nil
		}
	}
}

// Spread is the resync period of a kind, give or take a tenth by the hash of its key, so that the kinds don't all list
// at once.
func Spread(period time.Duration, key string) time.Duration {
	h := fnv.New32a()
	// A hash never fails to be written to.
	_, _ = h.Write([]byte(key))
	tenth := period / 10
	return period - tenth + 2*tenth*time.Duration(h.Sum32()%1024)/1024
}
