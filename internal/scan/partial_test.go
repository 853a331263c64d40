// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// lists counts how often ConfigMaps are listed, by namespace, and answers as a test wants.
type lists struct {
	mu     sync.Mutex
	counts map[string]int
	// version is that of each list in a namespace, and fail what it ends with.
	version string
	fail    error
}

func (l *lists) react(w *world) clienttesting.ReactionFunc {
	return func(a clienttesting.Action) (bool, runtime.Object, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.counts[a.GetNamespace()]++
		if l.fail != nil && a.GetNamespace() != "" {
			return true, nil, l.fail
		}
		kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
		found, err := w.client.Tracker().List(configMapResource, kind, a.GetNamespace())
		if err != nil {
			return true, nil, err
		}
		list, ok := found.(*unstructured.UnstructuredList)
		if !ok {
			return true, nil, errors.New("no list")
		}
		list.SetResourceVersion("20")
		if a.GetNamespace() != "" {
			list.SetResourceVersion(l.version)
		}
		return true, list, nil
	}
}

func (l *lists) taken() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := maps.Clone(l.counts)
	clear(l.counts)
	return taken
}

func (l *lists) set(version string, fail error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version, l.fail = version, fail
}

// TestAPartialPassListsNoMoreThanItHasTo has verdicts depend on a Namespace, and change with it. Where what lives there
// can't be judged alone, the whole kind is listed.
func TestAPartialPassListsNoMoreThanItHasTo(t *testing.T) {
	cases := map[string]struct {
		reason  string
		version string
		fail    error
		whole   bool
	}{
		"it can be": {"one list of one namespace", "21", nil, false},
		"it may not be listed": {"permissions in a namespace may be less than those in the cluster", "20",
			apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", nil), true},
		"the list has expired":             {"it begins again", "20", apierrors.NewResourceExpired("too old"), true},
		"the list is older than the watch": {"it may lack what the watch has shown", "5", nil, true},
		"versions can't be compared":       {"so nobody knows which is older", "v7", nil, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := &lists{counts: map[string]int{}, version: "20"}
			w := newWorld(t, func(o *Options) { o.ResyncPeriod = 10_000 * time.Hour })
			w.client.PrependReactor("list", "configmaps", l.react(w))
			namespace := func(name, env string) *corev1.Namespace {
				return &corev1.Namespace{
					ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"env": env}}}
			}
			for _, name := range []string{"ns", "other"} {
				o := versioned(name, "3", nil)
				o.SetNamespace(name)
				if _, err := w.client.Resource(configMapResource).Namespace(name).Create(w.ctx, o,
					metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			p := w.policy("owner")
			p.Spec.Match.NamespaceSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"env": "prod"}}
			w.set(p)
			w.await("no namespace is known", see{nil, true, v1alpha1.ScanComplete, 2})
			w.namespaces.Add(namespace("ns", "test"))
			w.namespaces.Add(namespace("other", "test"))
			w.await("no namespace is selected", see{nil, true, v1alpha1.ScanComplete, 0})
			l.taken()
			number := w.index.LatestPass()
			l.set(tc.version, tc.fail)
			w.namespaces.Update(namespace("ns", "test"), namespace("ns", "prod"))
			w.await("one is now", see{[]string{"ConfigMap ns"}, true, v1alpha1.ScanComplete, 1})
			got := l.taken()
			if whole := got[""] > 0; whole != tc.whole || got["other"] > 0 || got["ns"] != 1 {
				t.Errorf("%s: listed %v, want the whole kind %t", tc.reason, got, tc.whole)
			}
			if counts := w.index.LatestPass() > number; counts != tc.whole {
				t.Errorf("%s: who waits for a pass is served: %t", tc.reason, counts)
			}
		})
	}
}

func TestAPartialPassOfAKindWithoutNamespacesIsNone(t *testing.T) {
	p := &partialPasses{of: &pass{scan: &kindScan{}, mapping: &meta.RESTMapping{Scope: meta.RESTScopeRoot}}}
	if o := p.run(t.Context(), inventory.InNamespaces("a")); !errors.Is(o.err, errWholeKind) {
		t.Errorf("a kind that lives in none: %v", o.err)
	}
	p.of.mapping.Scope = meta.RESTScopeNamespace
	if o := p.run(t.Context(), inventory.AllNamespaces()); !errors.Is(o.err, errWholeKind) {
		t.Errorf("all namespaces: %v", o.err)
	}
}
