// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

// waiverOf waives the policy "owner" on one ConfigMap of the namespace ns.
func waiverOf(object string, until time.Time) *v1alpha1.Waiver {
	return &v1alpha1.Waiver{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "waiver", UID: "w", Generation: 2},
		Spec: v1alpha1.WaiverSpec{Match: v1alpha1.WaiverMatch{Names: []string{object}},
			WaiverTerms: v1alpha1.WaiverTerms{Policies: []string{"owner"}, Reason: "moves next quarter",
				ExpirationTime: metav1.NewTime(until)}}}
}

func TestWaiverConditions(t *testing.T) {
	const until = "2026-01-02T04:04:05Z"
	const expired = "Active False Expired: it expired at " + until +
		"; the violations count again: fix the objects, set a later spec.expirationTime, or delete it"
	const accepted, waives = "Ready True Accepted: it is in order; it waives violations until " + until,
		"Active True Accepted: violations are waived until " + until
	cases := map[string]struct {
		reason  string
		now     time.Time
		problem error
		missing []string
		want    []string
	}{
		"a waiver that waives is ready and active": {now: epoch, want: []string{accepted, waives}},
		"a moment before its expiry it is":         {now: epoch.Add(time.Hour - 1), want: []string{accepted, waives}},
		"at its expiry it isn't active, and says what to do": {
			reason: "it is what its author has declared: nothing is broken", now: epoch.Add(time.Hour),
			want: []string{"Ready True Accepted: it is in order; it expired at " + until, expired}},
		"an expired one isn't told to be fixed": {
			reason: "that its policy is gone doesn't matter any more", now: epoch.Add(2 * time.Hour),
			missing: []string{"owner"},
			want:    []string{"Ready True Accepted: it is in order; it expired at " + until, expired}},
		"one that can't be read says why": {
			now: epoch, problem: errors.New("spec.match.names: bad"),
			want: []string{"Ready False Invalid: it waives nothing: spec.match.names: bad",
				"Stalled True Invalid: it waives nothing: spec.match.names: bad",
				"Active False Invalid: it waives nothing: spec.match.names: bad"}},
		"one that is being deleted waits for its finalizers": {
			reason: "whoever keeps it there can't keep it in force", now: epoch,
			problem: fmt.Errorf("%w; until it is gone it waits for its finalizers: a.b/c", catalog.ErrWaiverDeleted),
			want: []string{
				"Ready False Deleting: it waives nothing: it is being deleted; until it is gone it waits for its " +
					"finalizers: a.b/c",
				"Reconciling True Deleting: it waives nothing: it is being deleted; until it is gone it waits for " +
					"its finalizers: a.b/c",
				"Active False Deleting: it waives nothing: it is being deleted; until it is gone it waits for its " +
					"finalizers: a.b/c"}},
		"a policy that doesn't exist is named": {
			reason: "it may come yet", now: epoch, missing: []string{"owner"},
			want: []string{"Ready False PolicyNotFound: no such policy: owner; check spec.policies",
				"Reconciling True PolicyNotFound: no such policy: owner; check spec.policies",
				"Active False PolicyNotFound: no such policy: owner; check spec.policies"}},
		"the policies that do exist are waived all the same": {
			now: epoch, missing: []string{"ownr"},
			want: []string{"Ready False PolicyNotFound: no such policy: ownr; check spec.policies",
				"Reconciling True PolicyNotFound: no such policy: ownr; check spec.policies",
				"Active True Accepted: violations of the policies that exist are waived until " + until}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := waiverOf("a", epoch.Add(time.Hour))
			if len(tc.missing) == 1 && tc.missing[0] != "owner" {
				e.Spec.Policies = append(e.Spec.Policies, tc.missing...)
			}
			var got []string
			for _, c := range waiverConditions(e.Terms(), tc.problem, tc.missing, tc.now) {
				got = append(got, fmt.Sprintf("%s %s %s: %s", c.Type, c.Status, c.Reason, c.Message))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestAnExpiryIsAnnouncedOnce(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	e := waiverOf("a", epoch.Add(time.Hour))
	server := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		e, (&world{}).policy("owner")).WithStatusSubresource(e).Build()
	policies := catalog.New(catalog.Options{})
	said, clock := &recorded{}, clocktesting.NewFakePassiveClock(epoch)
	r := &WaiverController{client: server, catalog: policies, recorder: said, clock: clock}
	reconcile := func() (time.Duration, v1alpha1.Waiver) {
		t.Helper()
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(e)})
		if err != nil {
			t.Fatal(err)
		}
		var now v1alpha1.Waiver
		if err := server.Get(t.Context(), client.ObjectKeyFromObject(e), &now); err != nil {
			t.Fatal(err)
		}
		return result.RequeueAfter, now
	}
	if wait, now := reconcile(); wait != catalogLag || len(now.Status.Conditions) != 0 {
		t.Fatalf("a waiver that the catalog doesn't have yet waits %s and has %+v", wait, now.Status)
	}
	if err := policies.SetWaiver(e); err != nil {
		t.Fatal(err)
	}
	if wait, now := reconcile(); wait != expiryPoll || now.Status.ObservedGeneration != 2 ||
		!meta.IsStatusConditionTrue(now.Status.Conditions, v1alpha1.ConditionActive) {
		t.Fatalf("waits %s with %+v", wait, now.Status)
	}
	clock.SetTime(epoch.Add(time.Hour - 2*time.Second))
	if wait, _ := reconcile(); wait != 2*time.Second || len(*said) != 0 {
		t.Fatalf("just before the expiry it waits %s, events %q", wait, *said)
	}
	clock.SetTime(epoch.Add(time.Hour))
	reconcile()
	if wait, now := reconcile(); wait != 0 ||
		!meta.IsStatusConditionFalse(now.Status.Conditions, v1alpha1.ConditionActive) ||
		!meta.IsStatusConditionTrue(now.Status.Conditions, v1alpha1.ConditionReady) {
		t.Errorf("after the expiry it waits %s with %+v", wait, now.Status)
	}
	if len(*said) != 1 || !strings.Contains((*said)[0], "WaiverExpired") ||
		!strings.Contains((*said)[0], "moves next quarter") {
		t.Errorf("events %q, want one WaiverExpired with the reason", *said)
	}
}

func TestScannerJudgesAnewWhenAWaiverBeginsAndEnds(t *testing.T) {
	w := newWorld(t)
	w.create(configMapResource, object("v1", "ConfigMap", "bad", nil))
	w.create(configMapResource, object("v1", "ConfigMap", "waived", nil))
	w.set(w.policy("owner"))
	both := see{[]string{"ConfigMap bad", "ConfigMap waived"}, true, v1alpha1.ScanComplete, 2}
	w.await("without a waiver both violate", both)

	e := waiverOf("waived", epoch.AddDate(1000, 0, 0))
	if err := w.catalog.SetWaiver(e); err != nil {
		t.Fatal(err)
	}
	one := see{[]string{"ConfigMap bad"}, true, v1alpha1.ScanComplete, 2}
	w.await("a waived object isn't a finding, but was judged", one)
	if s, _ := w.index.Summary("owner", 0); s.Waived != 1 || s.Violating != 1 || s.Violations != 1 {
		t.Errorf("counts are %+v, want one violating and one waived", s.Counts)
	}

	// Nothing happens at the end but that the time comes.
	e.Generation, e.Spec.ExpirationTime = 3, metav1.NewTime(w.clock.Now().Add(10*time.Minute))
	if err := w.catalog.SetWaiver(e); err != nil {
		t.Fatal(err)
	}
	w.await("an expired waiver leaves a violation", both)
	if s, _ := w.index.Summary("owner", 0); s.Waived != 0 || w.clock.Now().Before(e.Spec.ExpirationTime.Time) {
		t.Errorf("counts are %+v at %s, want none waived, and not before %s", s.Counts, w.clock.Now(),
			e.Spec.ExpirationTime)
	}
}
