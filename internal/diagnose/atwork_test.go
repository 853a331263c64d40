// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
)

// inOrder is what a manager has reported that is well: a policy in force, its plan, a source and a breaker.
func inOrder(now time.Time) []client.Object {
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "in-order"}}
	p.Status.Scan = &v1alpha1.ScanStatus{State: v1alpha1.ScanComplete, LastFullScanTime: &metav1.Time{Time: now}}
	p.Status.Conditions = kube.Ready(v1alpha1.ReasonCompiled, "in force")
	rem := &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: "in-order-1"}}
	rem.Spec.Plan.Policy.Name, rem.Status.Phase = p.Name, v1alpha1.PhaseSucceeded
	src := &v1alpha1.PolicySource{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "rules"}}
	src.Status.Conditions = kube.Ready(v1alpha1.ReasonApplied, "in force")
	src.Status.NextAttemptTime = &metav1.Time{Time: now.Add(time.Minute)}
	cb := &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: "global"},
		Status: v1alpha1.RemediationBreakerStatus{State: v1alpha1.BreakerClosed}}
	return []client.Object{p, rem, src, cb}
}

// What a manager has reported outlives it: nothing of it is told as how things are once none is at work.
func TestNothingIsToldAsOfNowThatNoManagerKeepsUpToDate(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	checks := map[string]struct {
		look func(context.Context, *Installation) []Finding
		says string
	}{
		"policies": {policies, "2 policies are in force"},
		"sources":  {sources, "1 source is read"},
		"scan":     {scans, "the scans of 2 policies are complete"},
		"breakers": {breakers, "1 breaker is closed"},
		"rollouts": {rollouts, "no rollout of 1 policy waits for a person"},
	}
	cases := map[string]struct {
		lease  []client.Object
		status Status
		begins string
	}{
		"one is at work":  {[]client.Object{leaseOf(now)}, OK, ""},
		"none is at work": {[]client.Object{leaseOf(now.Add(-time.Hour))}, Warn, "last reported: "},
		"there is none":   {nil, Warn, "last reported: "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := looked(t, now, interceptor.Funcs{}, append(inOrder(now), tc.lease...)...)
			for of, c := range checks {
				found := c.look(t.Context(), in)
				if len(found) != 1 || found[0].Status != tc.status ||
					!strings.HasPrefix(found[0].Message, tc.begins+c.says) ||
					(tc.status == Warn) != strings.HasSuffix(found[0].Message,
						"; but no manager is running: what has changed since isn't seen") {
					t.Errorf("of %s it finds %+v, want %s of %q", of, found, tc.status, c.says)
				}
			}
		})
	}
	t.Run("there is nothing to report of", func(t *testing.T) {
		in := looked(t, now, interceptor.Funcs{})
		for of, c := range checks {
			if found := c.look(t.Context(), in); of != "policies" && of != "scan" && Worst(found) != OK {
				t.Errorf("of %s it finds %+v", of, found)
			}
		}
	})
}

func TestWhetherAManagerIsAtWorkIsAskedOnceARun(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", now.Format(http.TimeFormat))
		_, _ = w.Write([]byte(`{"gitVersion":"v1.34.0"}`))
	}))
	t.Cleanup(server.Close)
	asked, held := 0, now
	in := looked(t, now, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey,
		obj client.Object, opts ...client.GetOption) error {
		lease, is := obj.(*coordinationv1.Lease)
		if !is {
			return c.Get(ctx, key, obj, opts...)
		}
		asked++
		*lease = *leaseOf(held).(*coordinationv1.Lease)
		return nil
	}}, inOrder(now)...)
	in.HTTP, in.Server, in.Mapper = server.Client(), server.URL, kindsServed()
	working := func() (found int) {
		for _, f := range Run(t.Context(), in, nil) {
			if strings.Contains(f.Message, "no manager is running") {
				found++
			}
		}
		return found
	}
	if working() != 0 || asked != 3 {
		t.Errorf("the lease was read %d times, want once for each of the checks manager and leader, and once for all "+
			"that a manager reports", asked)
	}
	held = now.Add(-time.Hour)
	if found := working(); found != 5 {
		t.Errorf("the next run tells of %d checks that nobody is in progress, want 5: it asks anew", found)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if works, _ := in.atWork(ctx); in.working != nil {
		t.Errorf("it is remembered that a manager is at work (%t), which an interrupted look doesn't know", works)
	}
}
