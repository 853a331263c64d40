// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"fmt"
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
	"evenkeel.dev/evenkeel/internal/scan/index"
)

// TestFiguresAreWrittenAtMostOnceInAnInterval has a policy's figures change each second.
func TestFiguresAreWrittenAtMostOnceInAnInterval(t *testing.T) {
	s := newStatusWrites(t)
	s.reconcile()
	var names []string
	for second := range 60 {
		s.clock.SetTime(epoch.Add(time.Duration(second+1) * time.Second))
		names = append(names, fmt.Sprint(second))
		s.pass(names...)
		before := len(s.patches)
		wait := s.reconcile()
		if written := len(s.patches) > before; written != (wait == 0) || wait > DefaultStatusInterval {
			t.Fatalf("second %d: written is %t, the next look in %v", second, written, wait)
		}
	}
	// The first look, the first violation, which is a change of state, and one in ten seconds from then on.
	if got, want := len(s.patches), 2+5; got != want {
		t.Errorf("60 changes of the figures made %d writes, want %d: %q", got, want, s.patches)
	}
}

// TestStateIsWrittenAfterASecond changes a policy's state while its figures must wait.
func TestStateIsWrittenAfterASecond(t *testing.T) {
	cases := map[string]struct {
		before []string
		change func(s *statusWrites)
	}{
		"the first object violates": {change: func(s *statusWrites) { s.pass("a") }},
		"no object violates":        {before: []string{"a", "b"}, change: func(s *statusWrites) { s.pass() }},
		"a kind can't be listed":    {change: func(s *statusWrites) { s.f.Fail(configMaps, "it is forbidden") }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStatusWrites(t)
			s.pass(tc.before...)
			s.reconcile()
			tc.change(s)
			if wait := s.reconcile(); wait != time.Second || len(s.patches) != 1 {
				t.Fatalf("a change of state at once waits %v after %d writes, want 1s after 1", wait, len(s.patches))
			}
			s.clock.SetTime(epoch.Add(time.Second))
			if s.reconcile(); len(s.patches) != 2 {
				t.Errorf("after a second there are %d writes, want 2: %q", len(s.patches), s.patches)
			}
		})
	}
}

// statusWrites is a policy's status controller, whose writes are recorded.
type statusWrites struct {
	f         *scanned
	clock     *clocktesting.FakePassiveClock
	client    client.Client
	revision  string
	patches   []string
	reconcile func() time.Duration
}

// pass has the objects of these names violate.
func (s *statusWrites) pass(names ...string) {
	var objects []*index.Judged
	for _, name := range names {
		objects = append(objects, s.f.violates(name))
	}
	s.f.pass(objects...)
}

func newStatusWrites(t *testing.T) *statusWrites {
	t.Helper()
	s := &statusWrites{clock: clocktesting.NewFakePassiveClock(epoch)}
	p := (&world{}).policy("owner")
	p.Generation = 1
	p.Status.Remediation = &v1alpha1.RemediationPointer{Name: "plan-1"}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	s.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(p).WithStatusSubresource(p).
		WithInterceptorFuncs(interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object,
				patch client.Patch, opts ...client.SubResourcePatchOption) error {
				data, err := patch.Data(o)
				s.patches = append(s.patches, string(data))
				if err != nil {
					return err
				}
				return c.SubResource(sub).Patch(ctx, o, patch, opts...)
			}}).Build()
	policies := catalog.New(catalog.Options{})
	if err := policies.Set(p); err != nil {
		t.Fatal(err)
	}
	s.revision, _ = policies.Snapshot().Revision("owner")
	s.f = newScanned(inForce("owner", s.revision))
	r := &StatusController{client: s.client, catalog: policies, index: s.f.Index, clock: s.clock,
		interval: DefaultStatusInterval, announcer: newAnnouncer(&recorded{}, s.clock), written: map[string]time.Time{}}
	s.reconcile = func() time.Duration {
		t.Helper()
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(p)})
		if err != nil {
			t.Fatal(err)
		}
		return result.RequeueAfter
	}
	return s
}

func TestOnlyWhatChangedIsWritten(t *testing.T) {
	s := newStatusWrites(t)
	s.f.pass(s.f.violates("a"))
	s.reconcile()
	s.clock.SetTime(epoch.Add(DefaultStatusInterval))
	s.f.Put(configMaps, s.f.complies("b"))
	s.reconcile()
	if len(s.patches) != 2 {
		t.Fatalf("two changes made %d writes: %q", len(s.patches), s.patches)
	}
	want := `{"status":{"conditions":[{"lastTransitionTime":"2026-01-02T03:04:05Z","message":"revision ` + s.revision +
		` is in force; 1 of 2 objects violates it","observedGeneration":1,"reason":"Compiled","status":"True","type":"Ready"}],"scan":{"scanned":2}}}`
	if diff := cmp.Diff(want, s.patches[1]); diff != "" {
		t.Errorf("only what changed is written (-want +got):\n%s", diff)
	}
	var got v1alpha1.ClusterRegoPolicy
	if err := s.client.Get(t.Context(), client.ObjectKey{Name: "owner"}, &got); err != nil {
		t.Fatal(err)
	}
	scan := &v1alpha1.ScanStatus{State: v1alpha1.ScanComplete, Scanned: 2, Violating: 1, Violations: 1,
		LastFullScanTime: &metav1.Time{Time: epoch.Local()},
		Sample:           []v1alpha1.ViolationSample{sampleOf(violating("a"))}}
	if diff := cmp.Diff(scan, got.Status.Scan); diff != "" {
		t.Errorf("status.scan (-want +got):\n%s", diff)
	}
	if got.Status.Remediation == nil || got.Status.ObservedGeneration != 1 || got.Status.Revision != s.revision {
		t.Errorf("status is %+v, want generation 1, revision %s and the remediation kept", got.Status, s.revision)
	}
}
