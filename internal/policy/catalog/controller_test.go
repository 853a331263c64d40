// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// synced is a cache that has caught up, or never will.
type synced bool

func (s synced) WaitForCacheSync(context.Context) bool { return bool(s) }

func stored(name, source string) *v1alpha1.ClusterRegoPolicy {
	return &v1alpha1.ClusterRegoPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.RegoPolicySpec{
			Rego: v1alpha1.RegoSource{File: "p.rego", Main: source},
			Match: v1alpha1.Match{
				Kinds: []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"Pod"}}}},
		},
	}
}

const goodRego = "package p\n\nimport rego.v1\n\ndeny contains \"x\" if true"

func newController(tb testing.TB, cache syncer, funcs interceptor.Funcs, objects ...client.Object) (
	*Controller, client.Client) {
	tb.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		tb.Fatal(err)
	}
	server := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(funcs).Build()
	c := NewController(New(Options{}))
	c.reader, c.cache = server, cache
	return c, server
}

func TestInitialListCompletesTheCatalog(t *testing.T) {
	c, _ := newController(t, synced(true), interceptor.Funcs{}, stored("good", goodRego), stored("broken", "package"))
	if err := (initialList{c}).Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !c.catalog.Complete() || len(c.catalog.Snapshot().Policies()) != 2 {
		t.Errorf("complete %t with %d policies, want both", c.catalog.Complete(), len(c.catalog.Snapshot().Policies()))
	}
	if status, _ := c.catalog.Status("broken"); status.Err == nil {
		t.Error("the broken policy has no error")
	}
}

func TestInitialListNeverCompletesWithoutPolicies(t *testing.T) {
	refused := errors.New("refused")
	cases := map[string]struct {
		reason string
		cache  synced
		funcs  interceptor.Funcs
		want   string
	}{
		"the cache doesn't sync": {"nothing is known", false, interceptor.Funcs{}, "didn't sync"},
		"the list fails": {"nothing is known", true, interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList,
				...client.ListOption) error {
				return refused
			},
		}, "refused"},
		"a read fails": {"one is missing", true, interceptor.Funcs{
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return refused
			},
		}, "read policy good: refused"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, _ := newController(t, tc.cache, tc.funcs, stored("good", goodRego))
			err := (initialList{c}).Start(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.want) || c.catalog.Complete() {
				t.Errorf("%s: error %v, complete %t", tc.reason, err, c.catalog.Complete())
			}
		})
	}
}

func TestReconcileFollowsThePolicy(t *testing.T) {
	c, server := newController(t, synced(true), interceptor.Funcs{}, stored("p", goodRego))
	reconcile := func() {
		t.Helper()
		if err := c.locked(t.Context(), c.syncPolicy, types.NamespacedName{Name: "p"}); err != nil {
			t.Fatal(err)
		}
	}
	reconcile()
	first, ok := c.catalog.Snapshot().Revision("p")
	if !ok {
		t.Fatal("the policy isn't in force")
	}
	var p v1alpha1.ClusterRegoPolicy
	if err := server.Get(t.Context(), types.NamespacedName{Name: "p"}, &p); err != nil {
		t.Fatal(err)
	}
	p.Spec.Rego.Main = "package"
	if err := server.Update(t.Context(), &p); err != nil {
		t.Fatal(err)
	}
	reconcile()
	if kept, _ := c.catalog.Snapshot().Revision("p"); kept != first {
		t.Errorf("revision %s replaced %s", kept, first)
	}
	if err := server.Delete(t.Context(), &p); err != nil {
		t.Fatal(err)
	}
	reconcile()
	if n := len(c.catalog.Snapshot().Policies()); n != 0 {
		t.Errorf("%d policies are in force after the deletion", n)
	}
}

func TestControllerNeedsNoLeader(t *testing.T) {
	if (initialList{}).NeedLeaderElection() {
		t.Error("a replica that isn't the leader would never be ready")
	}
}

func TestWaiversAreReadBeforeTheCatalogIsComplete(t *testing.T) {
	e := &v1alpha1.Waiver{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "w"}}
	c, server := newController(t, synced(true), interceptor.Funcs{}, stored("good", goodRego), e)
	if err := (initialList{c}).Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if known, _ := c.catalog.WaiverProblem(e); !known || !c.catalog.Complete() {
		t.Errorf("the waiver is known: %t; the catalog is complete: %t", known, c.catalog.Complete())
	}
	if err := server.Delete(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if err := c.locked(t.Context(), c.syncWaiver, client.ObjectKeyFromObject(e)); err != nil {
		t.Fatal(err)
	}
	if known, _ := c.catalog.WaiverProblem(e); known {
		t.Error("a deleted waiver is still known")
	}
}

func TestTheCatalogIsNotCompleteWithoutWaivers(t *testing.T) {
	refused := errors.New("refused")
	c, _ := newController(t, synced(true), interceptor.Funcs{
		List: func(ctx context.Context, w client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*v1alpha1.WaiverList); ok {
				return refused
			}
			return w.List(ctx, list, opts...)
		},
	}, stored("good", goodRego))
	if err := (initialList{c}).Start(t.Context()); !errors.Is(err, refused) || c.catalog.Complete() {
		t.Errorf("error %v, complete %t: what is waived would be refused", err, c.catalog.Complete())
	}
}
