// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// server answers with the objects given. before is asked first, with what is listed.
func server(t *testing.T, before func(ctx context.Context, list client.ObjectList, o *client.ListOptions) error,
	objects ...client.Object) client.Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithIndex(&eventsv1.Event{}, "regarding.uid", func(o client.Object) []string {
			return []string{string(o.(*eventsv1.Event).Regarding.UID)}
		}).
		WithIndex(&eventsv1.Event{}, "type", func(o client.Object) []string {
			return []string{o.(*eventsv1.Event).Type}
		}).
		WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList,
				opts ...client.ListOption) error {
				o := (&client.ListOptions{}).ApplyOptions(opts)
				if o.Limit == 0 || o.Namespace == "" {
					return errors.New("a list without bounds")
				}
				if before != nil {
					if err := before(ctx, list, o); err != nil {
						return err
					}
				}
				return c.List(ctx, list, opts...)
			}}).Build()
}

func ownedBy(kind, name string) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID(name),
		Controller: &yes}}
}

// web is a Deployment of two templates: the Pods of the newer one can't pull their image.
func web() []client.Object {
	labels := map[string]string{"app": "web"}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	objects := []client.Object{&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "web"},
		Spec: appsv1.DeploymentSpec{Selector: selector,
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}}}}}
	for number, set := range map[string]string{"9": "web-old", "10": "web-new"} {
		of := map[string]string{"app": "web", appsv1.DefaultDeploymentUniqueLabelKey: set}
		made := pod(set+"-1", waits("ErrImagePull", set))
		made.Labels, made.OwnerReferences = of, ownedBy("ReplicaSet", set)
		objects = append(objects, &made, &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: set,
			UID: types.UID(set), Labels: of, Annotations: map[string]string{revision: number},
			OwnerReferences: ownedBy("Deployment", "web")}})
	}
	for name, uid := range map[string]string{"quota": "web-new", "pull": "uid-web-new-1", "other": "web-old"} {
		event := warning(name, "Failed", name, time.Second)
		event.Namespace, event.Regarding.UID = "shop", types.UID(uid)
		objects = append(objects, &event)
	}
	return objects
}

func subject(kind, name string) Subject {
	ref := v1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: kind, Namespace: "shop", Name: name, UID: name}
	return Subject{Target: ref, Of: ref, Since: now()}
}

func TestCollect(t *testing.T) {
	forbidden := errors.New("events.events.k8s.io is forbidden")
	for name, tc := range map[string]struct {
		reason  string
		subject Subject
		before  func(ctx context.Context, list client.ObjectList, o *client.ListOptions) error
		want    []v1alpha1.FailureEvidence
	}{
		"of a Deployment the Pods of its newest template, with the events of its ReplicaSet": {
			reason: "the others ran before the write", subject: subject("Deployment", "web"),
			want: []v1alpha1.FailureEvidence{{Findings: []string{"0 of 1 Pod of its newest template ready",
				"Pod web-new-1, container app: waiting: ErrImagePull: web-new",
				"Warning of Pod web-1: Failed: pull", "Warning of Pod web-1: Failed: quota"}}}},
		"what may not be read is told, with what could be": {
			reason: "an older role lacks it, and no evidence isn't the same", subject: subject("Deployment", "web"),
			before: func(_ context.Context, list client.ObjectList, _ *client.ListOptions) error {
				if _, ok := list.(*eventsv1.EventList); ok {
					return forbidden
				}
				return nil
			},
			want: []v1alpha1.FailureEvidence{{Unread: "Warning events: events.events.k8s.io is forbidden",
				Findings: []string{"0 of 1 Pod of its newest template ready",
					"Pod web-new-1, container app: waiting: ErrImagePull: web-new"}}}},
		"nothing is told of what has no Pods and no events": {
			reason: "the message of the policy says all", subject: subject("ReplicaSet", "none")},
		"a server that doesn't answer holds nobody up": {
			reason: "a rollback must begin", subject: subject("Deployment", "web"),
			before: func(ctx context.Context, _ client.ObjectList, _ *client.ListOptions) error {
				<-ctx.Done()
				return ctx.Err()
			},
			want: []v1alpha1.FailureEvidence{{Unread: "its Pods: no answer within 5s; " +
				"Warning events: no answer within 5s"}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for i := range tc.want {
					tc.want[i].Object, tc.want[i].CollectedTime = tc.subject.Target, metav1.NewMicroTime(now())
				}
				begun := time.Now()
				got := Collect(t.Context(), server(t, tc.before, web()...), []Subject{tc.subject}, now())
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s\n(-want +got)\n%s", tc.reason, diff)
				}
				if took := time.Since(begun); took > within {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// An evicted Pod is gone: what its controller makes in its place tells why it failed.
func TestSubjectOf(t *testing.T) {
	pod := v1alpha1.ObjectReference{Kind: "Pod", Name: "web-1"}
	set := v1alpha1.ObjectReference{Kind: "ReplicaSet", Name: "web"}
	at := metav1.NewMicroTime(now())
	for name, tc := range map[string]struct {
		write *v1alpha1.WriteRecord
		want  Subject
	}{
		"nothing was written":   {nil, Subject{Target: pod, Of: pod}},
		"the target was":        {&v1alpha1.WriteRecord{IntentTime: &at}, Subject{Target: pod, Of: pod, Since: now()}},
		"the target is evicted": {&v1alpha1.WriteRecord{Controller: &set}, Subject{Target: pod, Of: set}},
	} {
		if diff := cmp.Diff(tc.want, SubjectOf(pod, tc.write)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	many := make([]Subject, 9)
	for i := range many {
		many[i] = subject("Deployment", strings.Repeat("x", i+1))
	}
	refuses := func(context.Context, client.ObjectList, *client.ListOptions) error { return errors.New("no") }
	if got := Collect(t.Context(), server(t, refuses), many, now()); len(got) != v1alpha1.MaxEvidence {
		t.Errorf("%d entries", len(got))
	}
}
