// SPDX-License-Identifier: Apache-2.0

package breaker_test

import (
	"context"
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/breakertest"
)

// faulty is how a client fails.
type faulty struct {
	all error
	// get and write fail for the breaker of that name.
	get, write map[string]error
}

// over is the client that keeps the breakers, with its failures.
func (f faulty) over(kept *breakertest.Memory) client.Client {
	return interceptor.NewClient(kept, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object,
			opts ...client.GetOption) error {
			if err := f.get[key.Name]; err != nil {
				return err
			}
			return c.Get(ctx, key, obj, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if f.all != nil {
				return f.all
			}
			return c.List(ctx, list, opts...)
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, _ string, obj client.Object,
			opts ...client.SubResourceUpdateOption) error {
			if err := f.write[obj.GetName()]; err != nil {
				return err
			}
			return c.Status().Update(ctx, obj, opts...)
		},
	})
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
			_, err := c.KeptBack(c.Ctx, c.Plan("a"))
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
		"what a plan may write": {store: faulty{all: down}, do: func(c *breakertest.Circuit) error {
			_, err := c.Consult(c.Ctx, c.Plan("a"))
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
			tc.cache.write = tc.store.write
			c.With(func(o *breaker.Options) {
				o.Reader, o.Client, o.Metrics = tc.store.over(c.Kept), tc.cache.over(c.Kept), prometheus.NewRegistry()
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
		store := faulty{write: map[string]error{"policy-tags": tc.fails}}.over(c.Kept)
		c.With(func(o *breaker.Options) { o.Client, o.Metrics = store, prometheus.NewRegistry() })
		got, err := c.Control.Reconcile(c.Ctx, ctrl.Request{NamespacedName: client.ObjectKey{Name: "policy-tags"}})
		if got != tc.again || !errors.Is(err, tc.want) {
			t.Errorf("%s: got %+v, %v, want %+v, %v", name, got, err, tc.again, tc.want)
		}
	}
}

func TestABreakerGoesWithItsNamespaceAsFarAsTheAPIServerSays(t *testing.T) {
	down := errors.New("the server is down")
	for name, tc := range map[string]struct {
		there, gone bool
		err         error
	}{
		"it is there":  {there: true},
		"it is gone":   {gone: true},
		"nobody knows": {err: down},
	} {
		idle := &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: "namespace-shop",
			CreationTimestamp: metav1.NewTime(breakertest.Noon)},
			Spec: v1alpha1.RemediationBreakerSpec{Scope: breaker.NamespaceScope("shop")}}
		c := breakertest.New(t, idle)
		c.Kept.Namespaces["shop"] = tc.there
		reader := faulty{get: map[string]error{"shop": tc.err}}.over(c.Kept)
		c.With(func(o *breaker.Options) { o.Reader, o.Metrics = reader, prometheus.NewRegistry() })
		_, err := c.Control.Reconcile(c.Ctx, ctrl.Request{NamespacedName: client.ObjectKey{Name: "namespace-shop"}})
		if !errors.Is(err, tc.err) {
			t.Errorf("%s: got %v, want %v", name, err, tc.err)
		}
		if gone := c.Read("namespace-shop") == nil; gone != tc.gone {
			t.Errorf("%s: the breaker is gone: %t, want %t", name, gone, tc.gone)
		}
	}
}
