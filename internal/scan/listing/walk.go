// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"context"
	"errors"
	"fmt"
	"iter"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"evenkeel.dev/evenkeel/internal/prose"
)

// Found is a live object that policies may concern.
type Found struct {
	Object map[string]any
	// Namespace is the Namespace that it lives in; nil for a cluster-scoped object,
	// or when it isn't known.
	Namespace map[string]any
	// Resource is the plural name of its kind's resource.
	Resource string
}

// Gap is what a walk couldn't see: verdicts on it are missing, not clean.
type Gap struct {
	Kind schema.GroupKind
	// Problem names the kind and says what to do.
	Problem string
}

// Progress is how far a walk has come.
type Progress struct {
	// Kind is the one that is being read, the Done-th of Kinds, from 0.
	Kind        schema.GroupKind
	Done, Kinds int
	// Objects counts those read, Remaining those of this kind that the API server
	// says are still to come; 0 when it doesn't say.
	Objects, Remaining int
}

// String says it in words.
func (p Progress) String() string {
	text := fmt.Sprintf("kind %d of %d, %s: %s read", p.Done+1, p.Kinds, p.Kind.Kind, prose.Count(p.Objects, "object"))
	if p.Remaining > 0 {
		text += fmt.Sprintf(", %d to come", p.Remaining)
	}
	return text
}

// Walk reads every object that policies concern once, page by page, for a program
// that looks at a cluster in which nothing is installed. It needs list on the
// kinds and writes nothing.
type Walk struct {
	// Client reads objects, Discovery says which kinds there are.
	Client    dynamic.Interface
	Discovery discovery.DiscoveryInterface
	// Namespace limits the walk to what lives in it; empty means everything.
	Namespace string
	// Selector limits the walk to objects with such labels; empty means all.
	Selector string
	// PageSize is the number of objects of a page. Default: 500.
	PageSize int64
	// Progress is told how far the walk has come, after each page; nil for nobody.
	Progress func(Progress)

	mapper     meta.RESTMapper
	unknown    map[schema.GroupVersion]error
	namespaces map[string]map[string]any
	gaps       []Gap
	absent     []schema.GroupKind
	read       int
}

// Objects gives the objects of every kind that the policies concern, kind by kind.
// An error ends the walk: the cluster can't be reached, or the context ended. A
// kind that can't be read is no error, but a gap.
func (w *Walk) Objects(ctx context.Context, inForce Policies) iter.Seq2[Found, error] {
	return func(yield func(Found, error) bool) {
		if err := w.begin(ctx, inForce); err != nil {
			yield(Found{}, err)
			return
		}
		kinds := KindsOf(inForce.Policies()...)
		for i, gk := range kinds {
			mapping, known := w.resourceOf(gk)
			if !known || w.Namespace != "" && mapping.Scope.Name() != meta.RESTScopeNameNamespace {
				continue
			}
			at := Progress{Kind: gk, Done: i, Kinds: len(kinds)}
			more, err := w.kind(ctx, mapping, at, yield)
			if !more {
				return
			}
			if ctx.Err() != nil {
				yield(Found{}, context.Cause(ctx))
				return
			}
			if err != nil {
				w.gap(&KindError{Kind: gk, Resource: mapping.Resource.GroupResource(), Err: err})
			}
		}
	}
}

// Gaps are what the walk couldn't see, in the order in which it came upon them.
func (w *Walk) Gaps() []Gap { return w.gaps }

// Absent are the kinds that policies concern and this cluster doesn't serve: there
// are no objects of them.
func (w *Walk) Absent() []schema.GroupKind { return w.absent }

func (w *Walk) gap(err *KindError) {
	problem := err.problem()
	if apierrors.IsForbidden(err.Err) {
		problem = fmt.Sprintf(
			"%s may not be listed: ask for the permission to list %s, or name a namespace that you may read",
			describe(err.Kind), err.Resource)
	}
	w.gaps = append(w.gaps, Gap{Kind: err.Kind, Problem: problem})
}

func (w *Walk) begin(ctx context.Context, inForce Policies) error {
	cached := memory.NewMemCacheClient(w.Discovery)
	_, _, err := cached.ServerGroupsAndResources()
	var partial *discovery.ErrGroupDiscoveryFailed
	if errors.As(err, &partial) {
		w.unknown = partial.Groups
	} else if err != nil {
		return fmt.Errorf("ask the cluster which kinds it serves: %w", err)
	}
	w.mapper = restmapper.NewDeferredDiscoveryRESTMapper(cached)
	if err := w.readNamespaces(ctx); err != nil {
		if w.Namespace != "" && apierrors.IsNotFound(err) {
			return fmt.Errorf("there is no namespace %q, so nothing was looked at; see: kubectl get namespaces",
				w.Namespace)
		}
		if len(NamespaceKinds(inForce)) > 0 {
			w.gap(&KindError{Kind: schema.GroupKind{Kind: "Namespace"},
				Resource: schema.GroupResource{Resource: "namespaces"}, Err: err})
		}
	}
	return ctx.Err()
}

func (w *Walk) readNamespaces(ctx context.Context) error {
	w.namespaces = map[string]map[string]any{}
	all := w.Client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	if w.Namespace != "" {
		ns, err := all.Get(ctx, w.Namespace, metav1.GetOptions{})
		if err != nil {
			return err
		}
		w.namespaces[w.Namespace] = ns.Object
		return nil
	}
	_, err := eachPage(ctx, all, metav1.ListOptions{Limit: w.page()}, func(list *unstructured.UnstructuredList) bool {
		for i := range list.Items {
			w.namespaces[list.Items[i].GetName()] = list.Items[i].Object
		}
		return true
	})
	return err
}

// resourceOf finds the resource of a kind. A kind that isn't served has no
// objects; one whose group doesn't answer may have some.
func (w *Walk) resourceOf(gk schema.GroupKind) (*meta.RESTMapping, bool) {
	mapping, err := w.mapper.RESTMapping(gk)
	if err == nil {
		return mapping, true
	}
	for gv, why := range w.unknown {
		if gv.Group == gk.Group {
			w.gap(&KindError{Kind: gk, Err: why})
			return nil, false
		}
	}
	if !meta.IsNoMatchError(err) {
		w.gap(&KindError{Kind: gk, Err: err})
		return nil, false
	}
	w.absent = append(w.absent, gk)
	return nil, false
}

// kind reads all objects of a kind. It says whether more are wanted.
func (w *Walk) kind(ctx context.Context, mapping *meta.RESTMapping, at Progress, yield func(Found, error) bool) (
	more bool, err error) {
	w.tell(at)
	var resource lister = w.Client.Resource(mapping.Resource)
	if w.Namespace != "" {
		resource = w.Client.Resource(mapping.Resource).Namespace(w.Namespace)
	}
	opts := metav1.ListOptions{Limit: w.page(), LabelSelector: w.Selector}
	return eachPage(ctx, resource, opts, func(list *unstructured.UnstructuredList) bool {
		for i := range list.Items {
			u := &list.Items[i]
			u.SetGroupVersionKind(mapping.GroupVersionKind)
			w.read++
			if !yield(Found{Object: u.Object, Namespace: w.namespaces[u.GetNamespace()],
				Resource: mapping.Resource.Resource}, nil) {
				return false
			}
		}
		if left := list.GetRemainingItemCount(); left != nil {
			at.Remaining = int(*left)
		}
		w.tell(at)
		return true
	})
}

func (w *Walk) tell(at Progress) {
	if w.Progress != nil {
		at.Objects = w.read
		w.Progress(at)
	}
}

func (w *Walk) page() int64 {
	if w.PageSize > 0 {
		return w.PageSize
	}
	return DefaultPage
}
