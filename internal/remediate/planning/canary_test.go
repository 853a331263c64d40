// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/remediate/fixtest"
)

// deployments is an API server with Deployments that violate the policy of testDraft, in the order of a rollout, and
// a drafter of it. Those at the places given run a Pod; all others are scaled to zero.
func deployments(t *testing.T, namespaces []string, running ...int) (*drafter, draft) {
	t.Helper()
	d := testDraft(0, 0)
	var objects []client.Object
	seen := map[string]bool{}
	for i, namespace := range namespaces {
		if !seen[namespace] && namespace != "shop" { // which is there
			objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		}
		seen[namespace] = true
		replicas := int32(0)
		if slices.Contains(running, i) {
			replicas = 1
		}
		name := fmt.Sprintf("web-%03d", i)
		objects = append(objects, &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name), Generation: 1},
			Spec:       appsv1.DeploymentSpec{Replicas: &replicas},
			Status: appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: replicas, UpdatedReplicas: replicas,
				ReadyReplicas: replicas, AvailableReplicas: replicas, Conditions: []appsv1.DeploymentCondition{
					{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue}}},
		})
		d.eligible = append(d.eligible, candidate{mayLead: true, object: v1alpha1.ObjectReference{
			APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace, Name: name, UID: name}})
	}
	d.policy.Spec.Rego.Main = "package p\n\ndeny contains \"it is bad\" if true\n"
	d.policy.Spec.Match.Resources = []v1alpha1.ResourceMatch{
		{APIGroups: []string{"apps"}, Kinds: []string{"Deployment"}}}
	d.policy.SetDefaults()
	policies := catalog.New(catalog.Options{TimeLimit: time.Minute})
	if err := policies.Set(d.policy); err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, meta.RESTScopeNamespace)
	return &drafter{reader: fixtest.NewServer(objects...), policies: policies, mapper: mapper,
		clock: clocktesting.NewFakePassiveClock(fixtest.Now)}, d
}

// In a fleet of which hardly anything runs, a canary is found by looking again and again, at only so many objects a
// time; a namespace full of what isn't healthy keeps nobody else's from being found at once.
func TestACanaryIsFoundHoweverFewAreHealthy(t *testing.T) {
	repeat := func(namespace string, n int) []string { return slices.Repeat([]string{namespace}, n) }
	cases := map[string]struct {
		reason     string
		namespaces []string
		running    []int
		canary     string
		waits      []time.Duration
		refusals   []bool
	}{
		"the first": {reason: "it is read first", namespaces: repeat("shop", 50), running: []int{0, 1},
			canary: "web-000"},
		"the last of one look": {reason: "it is read at once", namespaces: repeat("shop", 50), running: []int{19},
			canary: "web-019"},
		"the last of 50": {reason: "the third look reads it", namespaces: repeat("shop", 50), running: []int{49},
			canary: "web-049", waits: []time.Duration{time.Second, time.Second}, refusals: []bool{false, false}},
		"behind a crowd of another namespace": {reason: "the first of each namespace are read first",
			namespaces: append(repeat("crowd", 200), "shop"), running: []int{200}, canary: "web-200"},
		"none": {reason: "each round tells so once, and later ones wait longer", namespaces: repeat("shop", 41),
			waits: []time.Duration{time.Second, time.Second, time.Second, 2 * time.Second, 4 * time.Second,
				5 * time.Second, 5 * time.Second},
			refusals: []bool{false, false, true, false, false, true, false}},
		"none of a few": {reason: "one look tells it", namespaces: repeat("shop", 3),
			waits: []time.Duration{time.Second, 2 * time.Second}, refusals: []bool{true, true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			memory := newAnnouncements()
			drafts, begun := deployments(t, tc.namespaces, tc.running...)
			for look := 0; ; look++ {
				d := begun
				d.eligible, d.search = slices.Clone(begun.eligible), memory.search("p")
				found, refused, err := drafts.chooseCanary(t.Context(), &d)
				if err != nil {
					t.Fatal(err)
				}
				if found {
					if got := d.eligible[0].object.Name; got != tc.canary || look != len(tc.waits) {
						t.Errorf("%s: look %d found %s; want %s by look %d", tc.reason, look, got, tc.canary,
							len(tc.waits))
					}
					return
				}
				if look == len(tc.waits) {
					if tc.canary != "" {
						t.Errorf("%s: nothing is found by look %d: %s", tc.reason, look, refused)
					}
					return
				}
				wait := memory.notFound("p", d.search, 5*time.Second)
				if wait != tc.waits[look] {
					t.Errorf("%s: look %d: again after %s, want %s", tc.reason, look, wait, tc.waits[look])
				}
				if told := strings.Contains(refused, "none of the violating objects"); told != tc.refusals[look] {
					t.Errorf("%s: look %d says %q", tc.reason, look, refused)
				}
			}
		})
	}
}

// A preview looks once, and says how far.
func TestAPreviewSaysHowManyItHasReadForACanary(t *testing.T) {
	drafts, d := deployments(t, slices.Repeat([]string{"shop"}, 30))
	d.search = search{reads: 20, once: true}
	found, refused, err := drafts.chooseCanary(t.Context(), &d)
	if err != nil || found || !strings.Contains(refused, "none of the first 20 of 30 violating objects is healthy") {
		t.Errorf("%t, %q, %v", found, refused, err)
	}
}

// A search that goes on in a fleet which has shrunk begins again.
func TestASearchGoesOnInASmallerFleet(t *testing.T) {
	s := search{reads: 20, passed: 40}
	if got := s.next(make([]int, 30)); len(got) != 20 || s.passed != 20 || s.complete {
		t.Errorf("reads %d, then stands at %+v", len(got), s)
	}
}
