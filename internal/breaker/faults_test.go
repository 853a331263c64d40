// SPDX-License-Identifier: Apache-2.0

package breaker_test

import (
	"context"
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/breakertest"
)

// faulty keeps breakers in memory, and fails where it is told to.
type faulty struct {
	*breakertest.Memory
	all error
	// get and write fail for the breaker of that name.
	get, write map[string]error
}

func (f *faulty) Get(ctx context.Context, name string) (*v1alpha1.RemediationBreaker, error) {
	if err := f.get[name]; err != nil {
		return nil, err
	}
	return f.Memory.Get(ctx, name)
}

func (f *faulty) All(ctx context.Context) ([]v1alpha1.RemediationBreaker, error) {
	if f.all != nil {
		return nil, f.all
	}
	return f.Memory.All(ctx)
}

func (f *faulty) WriteStatus(ctx context.Context, before, cb *v1alpha1.RemediationBreaker) error {
	if err := f.write[cb.Name]; err != nil {
		return err
	}
	return f.Memory.WriteStatus(ctx, before, cb)
}

// What the API server doesn't answer is an error wherever it is asked, and nothing is let through for it.
func TestErrorsOfTheStoreArrive(t *testing.T) {
	down := errors.New("etcd is down")
	named := func(name string) map[string]error { return map[string]error{name: down} }
	outcome := []rollout.Outcome{breakertest.Failed("f", "shop")}
	reconcile := func(name string) func(c *breakertest.Circuit) error {
		return func(c *breakertest.Circuit) error {
			_, err := c.Control.Reconcile(c.Ctx, ctrl.Request{NamespacedName: client.ObjectKey{Name: name}})
			return err
		}
	}
	for name, tc := range map[string]struct {
		store, cache faulty
		do           func(c *breakertest.Circuit) error
		passes       bool
	}{
		"what is kept back": {store: faulty{all: down}, do: func(c *breakertest.Circuit) error {
			_, err := c.KeptBack(c.Ctx, "tags")
			return err
		}},
		"whether a plan is outlasted": {store: faulty{all: down}, do: func(c *breakertest.Circuit) error {
			_, err := c.Outlasted(c.Ctx, heldPlan(c), nil)
			return err
		}},
		"whose permit it is": {cache: faulty{all: down}, do: func(c *breakertest.Circuit) error {
			_, err := c.HeldBy(c.Ctx, c.Plan("a"))
			return err
		}},
		"a permit that is given back": {store: faulty{all: down}, do: func(c *breakertest.Circuit) error {
			return c.Release(c.Ctx, c.Plan("a"))
		}},
		"what is barred, by the policy": {store: faulty{get: named("policy-tags")},
			do: func(c *breakertest.Circuit) error {
				_, err := c.Refusals(c.Ctx, c.Plan("a"), []string{"shop"})
				return err
			}},
		"what is barred, by namespaces": {store: faulty{all: down}, do: func(c *breakertest.Circuit) error {
			_, err := c.Refusals(c.Ctx, c.Plan("a"), []string{"shop"})
			return err
		}},
		"a write in a namespace": {store: faulty{all: down}, do: func(c *breakertest.Circuit) error {
			_, err := c.Admit(c.Ctx, c.Plan("a"), map[string]bool{"shop": true})
			return err
		}},
		"a write in no namespace": {store: faulty{all: down}, passes: true, do: func(c *breakertest.Circuit) error {
			_, err := c.Admit(c.Ctx, c.Plan("a"), nil)
			return err
		}},
		"an outcome, in the policy's": {store: faulty{write: named("policy-tags")},
			do: func(c *breakertest.Circuit) error {
				return c.Record(c.Ctx, c.Plan("a"), outcome)
			}},
		"an outcome, in a namespace's": {store: faulty{write: named("namespace-shop")},
			do: func(c *breakertest.Circuit) error {
				return c.Record(c.Ctx, c.Plan("a"), outcome)
			}},
		"whether a policy is demoted": {cache: faulty{get: named("policy-tags")},
			do: func(c *breakertest.Circuit) error {
				_, err := c.Demoted(c.Ctx, "tags")
				return err
			}},
		"the kill switch is gone":    {store: faulty{get: named("global")}, do: reconcile("global")},
		"the cache doesn't answer":   {cache: faulty{get: named("policy-tags")}, do: reconcile("policy-tags")},
		"the figures can't be drawn": {cache: faulty{all: down}, do: reconcile("policy-tags")},
	} {
		t.Run(name, func(t *testing.T) {
			c := breakertest.New(t)
			tc.store.Memory, tc.cache.Memory = c.Kept, c.Kept
			c.With(func(o *breaker.Options) {
				o.Store, o.Cached, o.Metrics = &tc.store, &tc.cache, prometheus.NewRegistry()
			})
			if err := tc.do(c); errors.Is(err, down) == tc.passes {
				t.Errorf("got %v", err)
			}
		})
	}
}

// heldPlan waits for a breaker of a namespace.
func heldPlan(c *breakertest.Circuit) *v1alpha1.Remediation {
	rem := c.Plan("a")
	rem.Status.Phase, rem.Status.Reason = v1alpha1.PhaseHeld, v1alpha1.ReasonBreakerOpen
	return rem
}

func TestAConflictIsTriedAgainQuietly(t *testing.T) {
	conflict := apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("remediationbreakers").GroupResource(),
		"policy-tags", errors.New("it was written since"))
	for name, tc := range map[string]struct {
		fails error
		want  error
		again ctrl.Result
	}{
		"a conflict":    {fails: conflict, again: ctrl.Result{RequeueAfter: kube.ConflictBackoff}},
		"another error": {fails: context.DeadlineExceeded, want: context.DeadlineExceeded},
	} {
		c := breakertest.New(t)
		c.Opened("1")
		store := &faulty{Memory: c.Kept, write: map[string]error{"policy-tags": tc.fails}}
		c.With(func(o *breaker.Options) { o.Store, o.Metrics = store, prometheus.NewRegistry() })
		got, err := c.Control.Reconcile(c.Ctx, ctrl.Request{NamespacedName: client.ObjectKey{Name: "policy-tags"}})
		if got != tc.again || !errors.Is(err, tc.want) {
			t.Errorf("%s: got %+v, %v, want %+v, %v", name, got, err, tc.again, tc.want)
		}
	}
}

func TestWhatTheAPIServerSaysOfBreakersAndNamespaces(t *testing.T) {
	down := errors.New("the server is down")
	there := fake.NewClientBuilder().WithScheme(scheme.Scheme).
		WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}).Build()
	broken := interceptor.NewClient(there, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return down
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return down },
	})
	for name, tc := range map[string]struct {
		reader client.Reader
		in     string
		want   bool
		err    error
	}{
		"it is there":  {reader: there, in: "shop", want: true},
		"it is gone":   {reader: there, in: "cart"},
		"nobody knows": {reader: broken, in: "shop", err: down},
	} {
		if got, err := breaker.NamespaceExists(tc.reader)(t.Context(), tc.in); got != tc.want ||
			!errors.Is(err, tc.err) {
			t.Errorf("%s: got %t, %v, want %t, %v", name, got, err, tc.want, tc.err)
		}
	}
	if _, err := breaker.NewReader(broken).All(t.Context()); !errors.Is(err, down) {
		t.Errorf("got %v, want %v", err, down)
	}
}
