// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
)

func TestTheFleetHasItsSizeAndViolations(t *testing.T) {
	names, violating := map[types.NamespacedName]bool{}, 0
	for _, d := range Deployments() {
		names[types.NamespacedName{Namespace: d.Namespace, Name: d.Name}] = true
		if Violates(d) {
			violating++
		}
	}
	if len(names) != Size || violating != Violating {
		t.Errorf("got %d Deployments, %d violating; want %d, %d", len(names), violating, Size, Violating)
	}
}

func TestAvailable(t *testing.T) {
	whole := appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2}
	cases := map[string]struct {
		reason string
		change func(*appsv1.DeploymentStatus)
		want   bool
	}{
		"all replicas are of the newest template and available": {
			"nothing is missing", func(*appsv1.DeploymentStatus) {}, true},
		"the controller hasn't seen the newest specification": {
			"its counts are of the old one", func(s *appsv1.DeploymentStatus) { s.ObservedGeneration = 1 }, false},
		"a replica is unavailable": {
			"it serves nobody", func(s *appsv1.DeploymentStatus) { s.AvailableReplicas = 1 }, false},
		"an old replica is still there": {
			"the rollout isn't over", func(s *appsv1.DeploymentStatus) { s.Replicas = 3 }, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := Deployment("shop", "web", true)
			d.Generation, d.Status = 2, whole
			tc.change(&d.Status)
			if got := Available(d); got != tc.want {
				t.Errorf("got %t, want %t: %s", got, tc.want, tc.reason)
			}
		})
	}
}

func TestDifference(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*appsv1.Deployment)
		equal  bool
	}{
		"the count of ReplicaSets": {"the Deployment's controller writes it", func(d *appsv1.Deployment) {
			d.Annotations = map[string]string{revisionAnnotation: "3"}
		}, true},
		"status and generation": {"the server and the controller write them", func(d *appsv1.Deployment) {
			d.Generation, d.Status.Replicas = 7, 2
		}, true},
		"a field of a container": {"it's declared", func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].SecurityContext.Privileged = ptr.To(false)
		}, false},
		"a field left behind as false": {"absent and false aren't the same declaration", func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem = ptr.To(false)
		}, false},
		"a label of the pods": {"it's declared", func(d *appsv1.Deployment) {
			d.Spec.Template.Labels = map[string]string{"app": "other"}
		}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before, after := Deployment("shop", "web", true), Deployment("shop", "web", true)
			tc.change(after)
			got, err := Difference(before, after)
			if err != nil {
				t.Fatal(err)
			}
			if (got == "") != tc.equal {
				t.Errorf("got %q, want equal %t: %s", got, tc.equal, tc.reason)
			}
		})
	}
}

// written is shop/web after a write by a manager at a second.
func written(generation int64, managers map[string]int64) *appsv1.Deployment {
	d := Deployment("shop", "web", true)
	d.UID, d.Generation = "1", generation
	for _, name := range []string{"demo", "evenkeel", "kubectl-patch"} {
		if second, found := managers[name]; found {
			at := metav1.NewTime(time.Unix(second, 0))
			d.ManagedFields = append(d.ManagedFields,
				metav1.ManagedFieldsEntry{Manager: name, Operation: metav1.ManagedFieldsOperationUpdate, Time: &at})
		}
	}
	return d
}

func TestTheRecorderKeepsWritesToSpecificationsAlone(t *testing.T) {
	at := time.Unix(100, 0)
	r := NewRecorder(func() time.Time { return at })
	other := Deployment("elsewhere", "web", true)
	for _, event := range []watch.Event{
		{Type: watch.Added, Object: written(1, map[string]int64{"demo": 10})},
		// its status
		{Type: watch.Modified, Object: written(1, map[string]int64{"demo": 10})},
		// a fix
		{Type: watch.Modified, Object: written(2, map[string]int64{"demo": 10, "evenkeel": 20})},
		// drift
		{Type: watch.Modified, Object: written(3, map[string]int64{"demo": 10, "evenkeel": 20, "kubectl-patch": 21})},
		{Type: watch.Added, Object: other},
	} {
		r.observe(event)
	}
	key := types.NamespacedName{Namespace: "shop", Name: "web"}
	want := []Write{{key, 1, at, "demo"}, {key, 2, at, "evenkeel"}, {key, 3, at, "kubectl-patch"}}
	got, err := r.Since(0)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

func TestAGapInTheRecordIsAnError(t *testing.T) {
	r := NewRecorder(time.Now)
	r.observe(watch.Event{Type: watch.Error, Object: &metav1.Status{Message: "too old"}})
	if _, err := r.Since(0); err == nil {
		t.Error("got no error: a claim about writes would be made on a record that lacks some")
	}
}
