// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"fmt"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// namespaces holds every Namespace as the rules see it, and signals when one
// changes in a way that may change a verdict on what lives in it.
type namespaces struct {
	mu     sync.Mutex
	byName map[string]map[string]any
	// missed are namespaces asked for before they were known.
	missed map[string]bool
	// changed has a value after one has changed.
	changed chan struct{}
}

func newNamespaces() *namespaces {
	return &namespaces{byName: map[string]map[string]any{}, missed: map[string]bool{}, changed: make(chan struct{}, 1)}
}

// get returns the Namespace, read-only, or nil when it isn't known yet; then its
// arrival counts as a change.
func (n *namespaces) get(name string) map[string]any {
	n.mu.Lock()
	defer n.mu.Unlock()
	ns := n.byName[name]
	if ns == nil {
		n.missed[name] = true
	}
	return ns
}

// follow keeps the namespaces in step until ctx ends. It returns when all are known.
func (n *namespaces) follow(ctx context.Context, informers cache.Informers) error {
	informer, err := informers.GetInformer(ctx, &corev1.Namespace{})
	if err != nil {
		return fmt.Errorf("watch namespaces: %w", err)
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    n.set,
		UpdateFunc: func(_, now any) { n.set(now) },
		DeleteFunc: n.forget,
	})
	if err != nil {
		return fmt.Errorf("watch namespaces: %w", err)
	}
	context.AfterFunc(ctx, func() {
		// The informer ends with the manager; a handler left over does no harm.
		_ = informer.RemoveEventHandler(registration)
	})
	if !toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return fmt.Errorf("watch namespaces: %w", context.Cause(ctx))
	}
	return nil
}

func (n *namespaces) set(obj any) {
	ns, ok := obj.(*corev1.Namespace)
	if !ok {
		return
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(ns)
	if err != nil {
		return
	}
	content["apiVersion"], content["kind"] = "v1", "Namespace"
	n.mu.Lock()
	defer n.mu.Unlock()
	before, known := n.byName[ns.Name]
	n.byName[ns.Name] = content
	if n.missed[ns.Name] || known && differs(before, content) {
		delete(n.missed, ns.Name)
		n.signal()
	}
}

func (n *namespaces) forget(obj any) {
	key, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.byName, key)
	delete(n.missed, key)
}

func (n *namespaces) signal() {
	select {
	case n.changed <- struct{}{}:
	default:
	}
}

// differs says that labels or annotations differ; rules that look at a namespace
// look at these.
func differs(before, now map[string]any) bool {
	return !maps.Equal(texts(before, "labels"), texts(now, "labels")) ||
		!maps.Equal(texts(before, "annotations"), texts(now, "annotations"))
}

func texts(namespace map[string]any, field string) map[string]string {
	metadata, _ := namespace["metadata"].(map[string]any)
	values, _ := metadata[field].(map[string]any)
	out := make(map[string]string, len(values))
	for k, v := range values {
		out[k], _ = v.(string)
	}
	return out
}
