// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/source/access"
)

// What a test's repository holds, by its commits.
const revisionA, revisionB = "main@sha1:a", "main@sha1:b"

// desk is a controller with one source, and a repository that answers as is said.
type desk struct {
	t      *testing.T
	c      *Controller
	clock  *clocktesting.FakePassiveClock
	events *events.FakeRecorder

	files    map[string]string
	revision string
	refuses  error
	asked    int
}

func newDesk(t *testing.T, change ...func(*v1alpha1.PolicySource)) *desk {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	d := &desk{t: t, events: events.NewFakeRecorder(100),
		clock: clocktesting.NewFakePassiveClock(time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC))}
	src := sourceWith(change...)
	src.UID = "uid-of-hats"
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(src, signers()).WithStatusSubresource(src).Build()
	d.c = NewController(Options{Fetcher: d, Clock: d.clock, Allowed: access.Namespaces{Own: hats.namespace}})
	d.c.client, d.c.reader, d.c.events = api, api, d.events
	d.c.secrets = access.Secrets{Reader: api}
	var err error
	if d.c.metrics, err = newMetrics(prometheus.NewRegistry(), api); err != nil {
		t.Fatal(err)
	}
	return d
}

// signers are the keys of those who sign.
func signers() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: hats.namespace, Name: "signers"}}
}

func verified(src *v1alpha1.PolicySource) {
	src.Spec.Verify = &v1alpha1.SourceVerification{SecretRef: v1alpha1.SecretReference{Name: signers().Name}}
}

// Fetch answers as the repository is said to.
func (d *desk) Fetch(context.Context, FetchRequest) (*Fetched, error) {
	if d.refuses != nil {
		return nil, d.refuses
	}
	return &Fetched{Revision: d.revision, Files: repository(d.files)}, nil
}

// Forget keeps nothing.
func (d *desk) Forget(string) error { return nil }

// holds has the repository hold policies of these names at a revision.
func (d *desk) holds(revision string, names ...string) {
	d.revision, d.files = revision, map[string]string{"lib/heads.rego": library}
	for _, name := range names {
		d.files[name+"/"+name+".rego"] = rego(name)
	}
}

// look has a minute pass and the controller look at the source.
func (d *desk) look() *v1alpha1.PolicySource {
	d.t.Helper()
	d.clock.SetTime(d.clock.Now().Add(time.Minute))
	src := sourceWith()
	if _, err := d.c.Reconcile(d.t.Context(),
		ctrl.Request{NamespacedName: client.ObjectKeyFromObject(src)}); err != nil {
		d.t.Fatal(err)
	}
	if err := client.IgnoreNotFound(d.c.client.Get(d.t.Context(), client.ObjectKeyFromObject(src), src)); err != nil {
		d.t.Fatal(err)
	}
	return src
}

// ask is look after a person has changed the source, so that the repository is asked.
func (d *desk) ask(change ...func(*v1alpha1.PolicySource)) *v1alpha1.PolicySource {
	d.t.Helper()
	src := sourceWith()
	if err := d.c.client.Get(d.t.Context(), client.ObjectKeyFromObject(src), src); err != nil {
		d.t.Fatal(err)
	}
	d.asked++
	metav1.SetMetaDataAnnotation(&src.ObjectMeta, v1alpha1.AnnotationReconcile, strconv.Itoa(d.asked))
	for _, c := range change {
		c(src)
	}
	if err := d.c.client.Update(d.t.Context(), src); err != nil {
		d.t.Fatal(err)
	}
	return d.look()
}

// policy is the policy of a name; nil when there is none.
func (d *desk) policy(name string) *v1alpha1.ClusterRegoPolicy {
	d.t.Helper()
	p := &v1alpha1.ClusterRegoPolicy{}
	err := d.c.client.Get(d.t.Context(), client.ObjectKey{Name: name}, p)
	if client.IgnoreNotFound(err) != nil {
		d.t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return p
}

func readyOf(src *v1alpha1.PolicySource) metav1.Condition {
	for _, c := range src.Status.Conditions {
		if c.Type == v1alpha1.ConditionReady {
			return c
		}
	}
	return metav1.Condition{}
}

// A revision that waits for something may be given up by the repository meanwhile, or
// by those who sign for it.
func TestWhatBecomesOfARevisionThatIsReadAndNotInForce(t *testing.T) {
	answers := func(err error) func(*desk) { return func(d *desk) { d.refuses = err } }
	tests := map[string]struct {
		reason   string
		then     func(*desk)
		revision string
	}{
		"its signer isn't known any more": {"nobody answers for it", answers(&FetchError{
			Reason: v1alpha1.ReasonSignatureInvalid, Stalled: true, Revision: revisionB, Err: errors.New("no key")}),
			revisionA},
		"no signer is known any more": {"nobody answers for it", func(d *desk) {
			if err := d.c.client.Delete(t.Context(), signers()); err != nil {
				t.Fatal(err)
			}
		}, revisionA},
		"the branch has gone": {"nobody follows it", answers(&FetchError{
			Reason: v1alpha1.ReasonRefNotFound, Stalled: true, Err: errors.New("no branch")}), revisionA},
		"the server doesn't answer": {"it is the newest that is known, and the next must descend from it",
			answers(&FetchError{Err: errors.New("no route")}), revisionB},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, verified)
			d.holds(revisionA, "hats")
			if src := d.look(); src.Status.Revision != revisionA {
				t.Fatalf("it begins with %v", src.Status)
			}
			foreign := located("caps").Definition
			if err := d.c.client.Create(t.Context(), foreign); err != nil {
				t.Fatal(err)
			}
			d.holds(revisionB, "hats", "caps")
			if ready := readyOf(d.ask()); ready.Reason != v1alpha1.ReasonPolicyConflict {
				t.Fatalf("beside a policy of that name: %v", ready)
			}
			tc.then(d)
			d.ask()
			if err := d.c.client.Delete(t.Context(), foreign); err != nil {
				t.Fatal(err)
			}
			src := d.look()
			if src.Status.Revision != tc.revision || (d.policy("caps") != nil) != (tc.revision == revisionB) {
				t.Errorf("%s: revision %s, the policy that it adds: %v", tc.reason, src.Status.Revision, d.policy("caps"))
			}
			if mustFollow(src) != commitOf(tc.revision) {
				t.Errorf("the next must follow %s", mustFollow(src))
			}
			if ready := readyOf(d.look()); ready.Status != metav1.ConditionFalse ||
				!strings.Contains(ready.Message, "Revision "+tc.revision+" stays in force") {
				t.Errorf("%s: %v", tc.reason, ready)
			}
		})
	}
}

// An emergency's override mustn't wait for another one to be corrected.
func TestRightOverridesCountBesideWrongOnesWhileTheNewestRevisionIsBroken(t *testing.T) {
	d := newDesk(t)
	d.holds(revisionA, "hats", "caps")
	d.look()
	d.holds(revisionB, "hats", "caps")
	d.files["caps/caps.rego"] += "\ndeny contains x if nobody\n"
	if ready := readyOf(d.ask()); ready.Reason != v1alpha1.ReasonNotCompiling {
		t.Fatalf("a broken revision: %v", ready)
	}
	src := d.ask(func(src *v1alpha1.PolicySource) {
		src.Spec.Overrides = []v1alpha1.SourceOverride{
			{Policies: []string{"hats"}, AdmissionAction: v1alpha1.AdmissionWarn},
			{Policies: []string{"hots"}, AdmissionAction: v1alpha1.AdmissionAudit}}
	})
	if p := d.policy("hats"); p.Spec.Admission.Action != v1alpha1.AdmissionWarn {
		t.Errorf("the right override has no effect: %v", p.Spec.Admission)
	}
	if ready := readyOf(src); ready.Reason != v1alpha1.ReasonNotCompiling || src.Status.ProblemCount != 2 ||
		src.Status.Problems[0].File != "caps/caps.rego" ||
		src.Status.Problems[1].File != "spec.overrides[1].policies[0]" ||
		!strings.Contains(ready.Message, "caps/caps.rego:") ||
		!strings.Contains(ready.Message, "; revision "+revisionA+", which stays in force, isn't as it should be: "+
			`spec.overrides[1].policies[0]: the repository has no policy "hots"`) {
		t.Errorf("it says %v: %v", ready, src.Status.Problems)
	}
	edited := d.policy("caps")
	edited.Spec.Title = "Any hats"
	if err := d.c.client.Update(t.Context(), edited); err != nil {
		t.Fatal(err)
	}
	d.look()
	if p := d.policy("caps"); p.Spec.Title == edited.Spec.Title {
		t.Error("an edit isn't corrected")
	}
}
