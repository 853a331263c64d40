// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"strconv"
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
	"evenkeel.dev/evenkeel/internal/source/git"
)

// What a test's repository holds, by its commits.
const revisionA, revisionB = "main@sha1:a", "main@sha1:b"

// desk is a controller with one source, and a repository that answers as is said.
type desk struct {
	t      *testing.T
	c      *Controller
	api    client.WithWatch
	clock  *clocktesting.FakePassiveClock
	events *events.FakeRecorder

	files    map[string]string
	revision string
	refuses  error
	// asked counts the people who asked for a look, and fetched the questions to the
	// repository.
	asked, fetched int
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
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(src, signers()).
		WithStatusSubresource(src).Build()
	d.c = NewController(Options{Fetcher: d, Clock: d.clock, Allowed: access.Namespaces{Own: hats.namespace}})
	d.api, d.c.client, d.c.reader, d.c.events = api, api, api, d.events
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
func (d *desk) Fetch(context.Context, git.Request) (*git.Fetched, error) {
	d.fetched++
	if d.refuses != nil {
		return nil, d.refuses
	}
	return &git.Fetched{Revision: d.revision, Files: repository(d.files)}, nil
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
	return d.lookAfter(time.Minute)
}

// lookAfter has the controller look at the source when so much time has passed.
func (d *desk) lookAfter(wait time.Duration) *v1alpha1.PolicySource {
	d.t.Helper()
	d.clock.SetTime(d.clock.Now().Add(wait))
	src := sourceWith()
	if _, err := d.c.Reconcile(d.t.Context(),
		ctrl.Request{NamespacedName: client.ObjectKeyFromObject(src)}); err != nil {
		d.t.Fatal(err)
	}
	err := d.c.client.Get(d.t.Context(), client.ObjectKeyFromObject(src), src)
	if client.IgnoreNotFound(err) != nil {
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

// deleted has the source's policy made, and the source deleted; foreign first takes its
// namespace off those that are accepted.
func (d *desk) deleted(foreign bool) *v1alpha1.PolicySource {
	d.t.Helper()
	p, src := inCluster("hats"), sourceWith()
	if err := d.c.client.Create(d.t.Context(), &p); err != nil {
		d.t.Fatal(err)
	}
	if err := d.c.client.Get(d.t.Context(), client.ObjectKeyFromObject(src), src); err != nil {
		d.t.Fatal(err)
	}
	src.Finalizers = []string{v1alpha1.SourceFinalizer}
	err := errors.Join(d.c.client.Update(d.t.Context(), src), d.c.client.Delete(d.t.Context(), src))
	if err != nil {
		d.t.Fatal(err)
	}
	if foreign {
		d.c.allowed.Own = "elsewhere"
	}
	return d.look()
}

// lastEvent is the last of the events; empty for none.
func (d *desk) lastEvent() (last string) {
	for {
		select {
		case last = <-d.events.Events:
		default:
			return last
		}
	}
}

func readyOf(src *v1alpha1.PolicySource) metav1.Condition {
	for _, c := range src.Status.Conditions {
		if c.Type == v1alpha1.ConditionReady {
			return c
		}
	}
	return metav1.Condition{}
}
