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
	"k8s.io/apimachinery/pkg/util/intstr"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/test/fixtest"
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
	d.policy.Spec.Match.Kinds = []v1alpha1.KindMatch{
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
// time.
func TestACanaryIsFoundHoweverFewAreHealthy(t *testing.T) {
	second := time.Second
	for name, tc := range map[string]struct {
		reason   string
		objects  int
		running  []int
		canary   string
		waits    []time.Duration
		refusals []bool
	}{
		"the first": {reason: "it is read first", objects: 50, running: []int{0, 1}, canary: "web-000"},
		"the last of one look": {reason: "it is read at once", objects: 250, running: []int{99},
			canary: "web-099"},
		"the last of 250": {reason: "the third look reads it", objects: 250, running: []int{249}, canary: "web-249",
			waits: []time.Duration{second, second}, refusals: []bool{false, false}},
		"none": {reason: "each round tells so once, and later ones wait longer", objects: 250,
			waits:    []time.Duration{second, second, second, 2 * second, 4 * second, 5 * second, 5 * second},
			refusals: []bool{false, false, true, false, false, true, false}},
		"none of a few": {reason: "one look tells it", objects: 3,
			waits: []time.Duration{second, 2 * second}, refusals: []bool{true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			memory := newAnnouncements()
			drafts, begun := deployments(t, slices.Repeat([]string{"shop"}, tc.objects), tc.running...)
			for look, wait := range tc.waits {
				d, refused := lookOnce(t, drafts, begun, memory)
				if refused == "found" {
					t.Fatalf("%s: found by look %d", tc.reason, look)
				}
				if told := strings.Contains(refused, "none of the violating objects"); told != tc.refusals[look] {
					t.Errorf("%s: look %d says %q", tc.reason, look, refused)
				}
				if got := memory.notFound("p", d.search, 5*second); got != wait {
					t.Errorf("%s: look %d: again after %s, want %s", tc.reason, look, got, wait)
				}
			}
			if d, refused := lookOnce(t, drafts, begun, memory); tc.canary != "" &&
				(refused != "found" || d.eligible[0].object.Name != tc.canary) {
				t.Errorf("%s: %s is found, want %s", tc.reason, d.eligible[0].object.Name, tc.canary)
			}
		})
	}
}

// lookOnce looks once for a canary. It says "found" where there is one.
func lookOnce(t *testing.T, drafts *drafter, begun draft, memory *announcements) (draft, string) {
	t.Helper()
	d := begun
	d.eligible, d.search = slices.Clone(begun.eligible), memory.search("p", d.origin())
	found, refused, err := drafts.chooseCanary(t.Context(), &d)
	if err != nil {
		t.Fatal(err)
	}
	if found {
		return d, "found"
	}
	return d, refused
}

// One in front is read each time: it may have become healthy meanwhile.
func TestWhatIsInFrontIsReadEachTime(t *testing.T) {
	memory := newAnnouncements()
	namespaces := slices.Repeat([]string{"shop"}, 250)
	drafts, begun := deployments(t, namespaces)
	d, _ := lookOnce(t, drafts, begun, memory)
	memory.notFound("p", d.search, time.Minute)
	drafts, _ = deployments(t, namespaces, 19)
	if d, refused := lookOnce(t, drafts, begun, memory); refused != "found" || d.eligible[0].object.Name != "web-019" {
		t.Errorf("%s leads; %q", d.eligible[0].object.Name, refused)
	}
}

// A search for a canary of another policy, revision or strategy begins again.
func TestASearchForAnotherPolicyBeginsAgain(t *testing.T) {
	for name, change := range map[string]func(*draft){
		"the policy, edited":   func(d *draft) { d.policy.Generation++ },
		"another of that name": func(d *draft) { d.policy.UID = "another" },
		"another revision":     func(d *draft) { d.revision = "r2" },
		"another strategy":     func(d *draft) { d.named = &v1alpha1.RemediationStrategy{} },
	} {
		memory := newAnnouncements()
		drafts, begun := deployments(t, slices.Repeat([]string{"shop"}, 150), 149)
		d, _ := lookOnce(t, drafts, begun, memory)
		memory.notFound("p", d.search, time.Minute)
		same := memory.search("p", begun.origin())
		policy := *begun.policy
		begun.policy = &policy
		change(&begun)
		if other := memory.search("p", begun.origin()); len(same.seen) != 80 || len(other.seen) != 0 {
			t.Errorf("%s: it has seen %d, and now %d", name, len(same.seen), len(other.seen))
		}
	}
}

// A namespace full of what isn't healthy takes nobody's place in front, and a critical object leads only where no other
// can.
func TestACanaryIsLookedForInTheOrderOfTheRollout(t *testing.T) {
	drafts, crowd := deployments(t, append(slices.Repeat([]string{"crowd"}, 400), "shop"), 400)
	crowd.order()
	if d, refused := lookOnce(t, drafts, crowd, newAnnouncements()); refused != "found" ||
		d.eligible[0].object.Namespace != "shop" {
		t.Errorf("behind a crowd %v leads; %q", d.eligible[0].object, refused)
	}
	drafts, fleet := deployments(t, []string{"shop", "shop", "payments"}, 0, 1, 2)
	size := intstr.FromInt32(2)
	fleet.strategy.Steps[0].Targets = size
	fleet.eligible[2].critical = true
	fleet.order()
	d, refused := lookOnce(t, drafts, fleet, newAnnouncements())
	if refused != "found" || d.eligible[0].critical || d.eligible[1].critical {
		t.Errorf("%v and %v lead; %q", d.eligible[0].object, d.eligible[1].object, refused)
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

// What a planner remembers of a policy goes with it: another of that name is told of again.
func TestAPolicyThatIsGoneIsForgotten(t *testing.T) {
	memory := newAnnouncements()
	for _, subject := range []string{"p", "p/uid", "pq"} {
		memory.isNew(subject, "why")
	}
	memory.search("p", "one")
	memory.forget("p")
	if !memory.isNew("p", "why") || !memory.isNew("p/uid", "why") || memory.isNew("pq", "why") ||
		len(memory.searches) != 0 {
		t.Errorf("it remembers %v, %v", memory.said, memory.searches)
	}
}
