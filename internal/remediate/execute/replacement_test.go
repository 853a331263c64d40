// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/fixtest"
)

// madeBy is a Pod that the ReplicaSet rs1 has made.
func madeBy(name, uid string, created time.Time, labels map[string]string) *corev1.Pod {
	yes := true
	return &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(uid), Labels: labels,
			CreationTimestamp: metav1.NewTime(created),
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "rs1", Controller: &yes}}}}
}

// untainted is a policy on Pods that wants none with the label tainted.
func untainted() *v1alpha1.ClusterRegoPolicy {
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "untainted"}}
	p.Spec.Admission.Action = v1alpha1.AdmissionDeny
	p.Spec.Match.Kinds = []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"Pod"}}}
	judged := false
	p.Spec.Match.PodTemplates = &judged
	p.Spec.Rego = v1alpha1.RegoSource{
		File: "p.rego",
		Main: "package p\n\nimport rego.v1\n\ndeny contains \"tainted\" if input.object.metadata.labels.tainted"}
	p.SetDefaults()
	return p
}

// An eviction whose Pod is made again with the same violation has fixed nothing. What
// was there before, or belongs to another controller, says nothing of it; a controller
// that makes none is waited for within bounds.
func TestTheReplacementOfAnEvictedPodIsJudged(t *testing.T) {
	tainted := map[string]string{"tainted": "yes"}
	replicas := func(n int32) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "rs", UID: "rs1"},
			Spec: appsv1.ReplicaSetSpec{Replicas: &n},
			Status: appsv1.ReplicaSetStatus{Replicas: n, FullyLabeledReplicas: n, AvailableReplicas: n,
				ReadyReplicas: n}}
	}
	another := madeBy("other-1", "o1", fixtest.Now, tainted)
	another.OwnerReferences[0].UID = "rs2"
	leaving := madeBy("web-2", "p2", fixtest.Now, tainted)
	now := metav1.NewTime(fixtest.Now)
	leaving.DeletionTimestamp, leaving.Finalizers = &now, []string{"example.com/x"}
	cases := map[string]struct {
		replicas int32
		pods     []client.Object
		planned  bool
		stopped  bool
		want     rollout.CheckResult
		says     string
	}{
		"one that is clean": {1, []client.Object{madeBy("web-2", "p2", fixtest.Now, nil)}, false,
			false, rollout.CheckPassed, ""},
		"one that violates again": {1, []client.Object{madeBy("web-2", "p2", fixtest.Now, tainted)},
			false, false, rollout.CheckFailed, "fix the template of Deployment shop/web"},
		"the second of two that violates": {
			2, []client.Object{madeBy("web-2", "p2", fixtest.Now, nil), madeBy("web-3", "p3", fixtest.Now, tainted)},
			false,
			false, rollout.CheckFailed, "Pod web-3"},
		"one that violates, the policy changed": {1, []client.Object{madeBy("web-2", "p2", fixtest.Now, tainted)},
			false, true, rollout.CheckPassed, ""},
		"one that was there before": {
			1, []client.Object{madeBy("web-0", "p0", fixtest.Now.Add(-time.Minute), tainted)}, false, false,
			rollout.CheckPassed, ""},
		"one that is itself a target of the plan": {1, []client.Object{madeBy("web-2", "p2", fixtest.Now, tainted)},
			true,
			false, rollout.CheckPassed, ""},
		"one of another controller": {1, []client.Object{another}, false, false, rollout.CheckWaiting,
			"0 of 1"},
		"one that is going": {1, []client.Object{leaving}, false, false, rollout.CheckWaiting,
			"0 of 1"},
		"none yet": {
			1, nil, false, false, rollout.CheckWaiting, "hasn't made another Pod yet"},
		"none, for it was scaled down": {0, nil, false, false, rollout.CheckPassed, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, append(tc.pods, replicas(tc.replicas))...)
			b.pass.Snapshot, b.pass.Remediation.Spec.Plan.Policy.Name = known(t, untainted()), "untainted"
			if tc.planned {
				b.pass.Records.Add(&v1alpha1.RemediationSlice{
					Targets: []v1alpha1.Target{{Object: v1alpha1.ObjectReference{UID: "p2"}}}})
			}
			intent := metav1.NewMicroTime(fixtest.Now.Add(300 * time.Millisecond))
			w := &v1alpha1.WriteRecord{Action: v1alpha1.ActionEvict, UID: "p1", HealthBefore: "Current",
				IntentTime: &intent, AppliedTime: &intent,
				Controller: &v1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "shop",
					Name: "rs", UID: "rs1"},
				Root: &v1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop",
					Name: "web", UID: "d1"}}
			got := b.pass.checkController(t.Context(), w, tc.stopped)
			if got.Result != tc.want || !strings.Contains(got.Message, tc.says) ||
				(got.Result == rollout.CheckFailed) != (got.Reason == v1alpha1.ReasonReplacementViolates) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// A Job doesn't say how many Pods it wants by now: one is awaited for a while.
func TestAControllerThatTellsNoNumberIsAwaitedForAWhile(t *testing.T) {
	b := newBench(t)
	job := &unstructured.Unstructured{
		Object: map[string]any{"apiVersion": "batch/v1", "kind": "Job",
			"metadata": map[string]any{"namespace": "shop", "name": "j", "uid": "j1"}}}
	at := metav1.NewMicroTime(fixtest.Now)
	w := &v1alpha1.WriteRecord{Action: v1alpha1.ActionEvict, UID: "p1", IntentTime: &at, AppliedTime: &at,
		Controller: &v1alpha1.ObjectReference{Kind: "Job", Name: "j", UID: "j1"}}
	if c := b.pass.checkReplacements(t.Context(), w, job, false); c == nil || c.Result != rollout.CheckWaiting {
		t.Errorf("at once: %+v", c)
	}
	b.pass.Targets.Clock = clocktesting.NewFakePassiveClock(
		fixtest.Now.Add(b.pass.Remediation.Spec.Plan.Rollout.ProgressDeadline.Duration / 2))
	if c := b.pass.checkReplacements(t.Context(), w, job, false); c != nil {
		t.Errorf("after half the deadline: %+v", c)
	}
}

// The Pods of a controller are all judged, however many pages their list has.
func TestEveryPageOfPodsIsJudged(t *testing.T) {
	b := newBench(t)
	var asked []string
	b.pass.Targets.Reader = interceptor.NewClient(b.api.(client.WithWatch), interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, out client.ObjectList, opts ...client.ListOption) error {
			options := (&client.ListOptions{}).ApplyOptions(opts)
			list := out.(*unstructured.UnstructuredList)
			asked = append(asked, options.Continue)
			page := len(asked)
			pod := madeBy(fmt.Sprintf("web-%d", page), fmt.Sprintf("p%d", page), fixtest.Now, nil)
			raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
			list.Items = append(list.Items, unstructured.Unstructured{Object: raw})
			if page < 3 {
				list.SetContinue(fmt.Sprintf("page %d", page+1))
			}
			return err
		}})
	rs := &unstructured.Unstructured{
		Object: map[string]any{"metadata": map[string]any{"namespace": "shop", "uid": "rs1"}}}
	for range 2 { // the second time it is remembered
		pods, err := b.pass.madeBy(t.Context(), rs)
		if err != nil || len(pods) != 3 {
			t.Errorf("%d Pods, %v", len(pods), err)
		}
	}
	equal(t, []string{"", "page 2", "page 3"}, asked)
}
