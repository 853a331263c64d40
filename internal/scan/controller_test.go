// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

func TestStatusIsWrittenAtMostOnceInAnInterval(t *testing.T) {
	p := (&world{}).policy("owner")
	p.Generation = 1
	p.Status.Remediation = &v1alpha1.RemediationPointer{Name: "plan-1"}
	var patches []string
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(p).WithStatusSubresource(p).
		WithInterceptorFuncs(interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object,
				patch client.Patch, opts ...client.SubResourcePatchOption) error {
				data, err := patch.Data(o)
				patches = append(patches, string(data))
				if err != nil {
					return err
				}
				return c.SubResource(sub).Patch(ctx, o, patch, opts...)
			}}).Build()
	policies := catalog.New(catalog.Options{})
	if err := policies.Set(p); err != nil {
		t.Fatal(err)
	}
	revision, _ := policies.Snapshot().Revision("owner")
	f := newScanned(inForce("owner", revision))
	clock := clocktesting.NewFakePassiveClock(epoch)
	r := &StatusController{client: c, catalog: policies, index: f.Index, clock: clock, interval: time.Second,
		announcer: newAnnouncer(&recorded{}, clock), written: map[string]time.Time{}}
	reconcile := func() time.Duration {
		t.Helper()
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(p)})
		if err != nil {
			t.Fatal(err)
		}
		return result.RequeueAfter
	}

	reconcile()
	f.pass(f.violates("a"))
	if wait := reconcile(); wait != time.Second || len(patches) != 1 {
		t.Fatalf("a second change at once waits %v after %d writes, want 1s after 1", wait, len(patches))
	}
	clock.SetTime(epoch.Add(time.Second))
	reconcile()
	clock.SetTime(epoch.Add(5 * time.Second))
	reconcile()
	f.Put(configMaps, f.complies("b"))
	reconcile()
	if len(patches) != 3 {
		t.Fatalf("three changes made %d writes, want 3: %q", len(patches), patches)
	}
	want := `{"status":{"conditions":[{"lastTransitionTime":"2026-01-02T03:04:06Z","message":"revision ` + revision +
		` is in force; 1 of 2 objects violates it","observedGeneration":1,"reason":"Compiled","status":"True","type":"Ready"}],"scan":{"scanned":2}}}`
	if diff := cmp.Diff(want, patches[2]); diff != "" {
		t.Errorf("only what changed is written (-want +got):\n%s", diff)
	}
	var got v1alpha1.ClusterRegoPolicy
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(p), &got); err != nil {
		t.Fatal(err)
	}
	scan := &v1alpha1.ScanStatus{State: v1alpha1.ScanComplete, Scanned: 2, Violating: 1, Violations: 1,
		LastFullScanTime: &metav1.Time{Time: epoch.Local()},
		Sample:           []v1alpha1.ViolationSample{sampleOf(violating("a"))}}
	if diff := cmp.Diff(scan, got.Status.Scan); diff != "" {
		t.Errorf("status.scan (-want +got):\n%s", diff)
	}
	if got.Status.Remediation == nil || got.Status.ObservedGeneration != 1 || got.Status.Revision != revision {
		t.Errorf("status is %+v, want generation 1, revision %s and the remediation kept", got.Status, revision)
	}
}
