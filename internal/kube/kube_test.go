// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/internal/kube"
)

func TestManagedBy(t *testing.T) {
	type want struct {
		Text    string
		Managed bool
	}
	cases := map[string]struct {
		reason              string
		labels, annotations map[string]string
		want                want
	}{
		"An object without marks is nobody's": {
			reason: "most objects are applied by hand or by a pipeline",
			labels: map[string]string{"app.kubernetes.io/managed-by": "kubectl"},
		},
		"Argo CD is known by its tracking annotation": {
			reason:      "annotation tracking is the default of Argo CD 3",
			annotations: map[string]string{"argocd.argoproj.io/tracking-id": "shop:apps/Deployment:shop/web"},
			want:        want{"Argo CD (application shop)", true},
		},
		"Argo CD is known by its instance label": {
			reason: "label tracking with the documented custom key",
			labels: map[string]string{"argocd.argoproj.io/instance": "shop"},
			want:   want{"Argo CD (application shop)", true},
		},
		"Argo CD's application in a namespace of its own is named with it": {
			reason:      "its marks write NAMESPACE_NAME",
			annotations: map[string]string{"argocd.argoproj.io/tracking-id": "team-a_shop:apps/Deployment:shop/web"},
			want:        want{"Argo CD (application team-a/shop)", true},
		},
		"The common instance label alone is no proof": {
			reason: "most charts set it",
			labels: map[string]string{"app.kubernetes.io/instance": "shop"},
		},
		"The common instance label names the application beside the annotation": {
			reason:      "the annotation proves it, but is cut short",
			labels:      map[string]string{"app.kubernetes.io/instance": "shop"},
			annotations: map[string]string{"argocd.argoproj.io/tracking-id": "somehow"},
			want:        want{"Argo CD (application shop)", true},
		},
		"A tracking annotation that can't be read still counts": {
			reason:      "unknown is never a permission",
			annotations: map[string]string{"argocd.argoproj.io/tracking-id": "somehow"},
			want:        want{"Argo CD (somehow)", true},
		},
		"An empty tracking annotation still counts": {
			reason:      "unknown is never a permission",
			annotations: map[string]string{"argocd.argoproj.io/tracking-id": ""},
			want:        want{"Argo CD", true},
		},
		"Argo CD wins over the Helm that it renders with": {
			reason: "a chart's source is the application",
			labels: map[string]string{"app.kubernetes.io/managed-by": "Helm", "argocd.argoproj.io/instance": "shop"},
			annotations: map[string]string{
				"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop"},
			want: want{"Argo CD (application shop)", true},
		},
		"A Flux mark without its namespace is named as far as it goes": {
			reason: "somebody took the other label away",
			labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps"},
			want:   want{"Flux (Kustomization apps)", true},
		},
		"Helm's annotation without its label is no proof": {
			reason:      "Helm itself refuses to adopt such an object",
			annotations: map[string]string{"meta.helm.sh/release-name": "web"},
		},
		"Config Sync's RootSync is named": {
			reason: "that is where to go", labels: map[string]string{"configmanagement.gke.io/sync-kind": "RootSync",
				"configmanagement.gke.io/sync-name":      "root-sync",
				"configmanagement.gke.io/sync-namespace": "config-management-system"},
			annotations: map[string]string{"configmanagement.gke.io/managed": "enabled"},
			want:        want{"Config Sync (RootSync config-management-system/root-sync)", true},
		},
		"Config Sync's file is named where the sync isn't": {
			reason: "older versions tell the path in the repository",
			annotations: map[string]string{
				"configmanagement.gke.io/managed":     "enabled",
				"configmanagement.gke.io/source-path": "namespaces/shop/web.yaml"},
			want: want{"Config Sync (namespaces/shop/web.yaml)", true},
		},
		"Config Sync that has let go manages no longer": {
			reason: "its documented way to stop managing one object",
			labels: map[string]string{"app.kubernetes.io/managed-by": "configmanagement.gke.io"},
			annotations: map[string]string{"configmanagement.gke.io/managed": "disabled",
				"configsync.gke.io/resource-id": "apps_deployment_shop_web"},
		},
		"Config Sync's other marks count without its annotation": {
			reason:      "unknown is never a permission",
			labels:      map[string]string{"configsync.gke.io/declared-version": "v1"},
			annotations: map[string]string{"configsync.gke.io/manager": ":root"},
			want:        want{"Config Sync (:root)", true},
		},
		"Flux is known by the Kustomization's labels": {
			reason: "kustomize-controller labels all that it applies",
			labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps",
				"kustomize.toolkit.fluxcd.io/namespace": "flux-system"},
			want: want{"Flux (Kustomization flux-system/apps)", true},
		},
		"Flux's HelmRelease wins over plain Helm": {
			reason: "the release is made by Flux: its source is there",
			labels: map[string]string{
				"helm.toolkit.fluxcd.io/name": "web", "helm.toolkit.fluxcd.io/namespace": "shop",
				"app.kubernetes.io/managed-by": "Helm"},
			annotations: map[string]string{
				"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop"},
			want: want{"Flux (HelmRelease shop/web)", true},
		},
		"Helm is known by its release annotations": {
			reason: "helm writes both, and its managed-by label",
			labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"},
			annotations: map[string]string{
				"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop"},
			want: want{"Helm (release shop/web)", true},
		},
		"Helm's label alone is no proof": {
			reason: "templates often carry it along when they are applied by hand",
			labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"},
		},
		"Config Sync is known while it manages the object": {
			reason: "the annotation is set to disabled when it lets go",
			annotations: map[string]string{
				"configmanagement.gke.io/managed": "enabled",
				"configsync.gke.io/resource-id":   "apps_deployment_shop_web"},
			want: want{"Config Sync (apps_deployment_shop_web)", true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			object := &metav1.ObjectMeta{Labels: tc.labels, Annotations: tc.annotations}
			manager, managed := kube.Tools{}.ManagedBy(object)
			got := want{Managed: managed}
			if managed {
				got.Text = manager.String()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nManagedBy: -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestHealthOf(t *testing.T) {
	cases := map[string]struct {
		reason string
		object map[string]any
		want   kube.Health
		proves bool
	}{
		"A Deployment with all replicas ready is current": {
			reason: "and it can get worse, so it proves something",
			object: deployment(2, 2, map[string]any{"replicas": int64(1), "updatedReplicas": int64(1),
				"readyReplicas": int64(1), "availableReplicas": int64(1)}),
			want: kube.Current, proves: true,
		},
		"A Deployment whose controller lags behind is in progress": {
			reason: "status speaks of an older generation",
			object: deployment(3, 2, map[string]any{"replicas": int64(1), "updatedReplicas": int64(1),
				"readyReplicas": int64(1), "availableReplicas": int64(1)}),
			want: kube.InProgress, proves: true,
		},
		"A Deployment past its progress deadline has failed": {
			reason: "its controller says so in a condition",
			object: deployment(2, 2, map[string]any{"replicas": int64(1), "readyReplicas": int64(0),
				"conditions": []any{
					map[string]any{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}}}),
			want: kube.Failed,
		},
		"A ConfigMap is always current": {
			reason: "it has no status",
			object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "x"}},
			want:   kube.Current, proves: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := &unstructured.Unstructured{Object: tc.object}
			got, _, err := kube.HealthOf(obj)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want.String(), got.String()); diff != "" {
				t.Errorf("%s\nHealthOf: -want +got\n%s", tc.reason, diff)
			}
			if proves, _ := kube.ProvesHealth(obj); proves != tc.proves {
				t.Errorf("%s\nProvesHealth: want %t, got %t", tc.reason, tc.proves, proves)
			}
			if kube.ParseHealth(got.String()) != got {
				t.Errorf("ParseHealth doesn't read back %s", got)
			}
		})
	}
}

func TestClassify(t *testing.T) {
	resource := schema.GroupResource{Group: "apps", Resource: "deployments"}
	cases := map[string]struct {
		reason string
		err    error
		want   kube.Class
		denied bool
	}{
		"No error is OK": {reason: "nothing happened", want: kube.OK},
		"A missing object is gone": {reason: "404", err: apierrors.NewNotFound(resource, "web"),
			want: kube.Gone},
		"A kind that isn't served isn't gone": {reason: "its definition may be back in a moment",
			err:  fmt.Errorf("read: %w", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "X"}}),
			want: kube.Unserved},
		"A resource that isn't served isn't gone": {
			reason: "the same, as the mapper tells it of a version that was dropped",
			err: &meta.NoResourceMatchError{
				PartialResource: schema.GroupVersionResource{Group: "example.com", Version: "v1beta1"}},
			want: kube.Unserved,
		},
		"A path that no handler serves isn't gone": {
			reason: "a page not found: the client fills in what it asked for, and marks the answer as unexpected",
			err: apierrors.NewGenericServerResponse(http.StatusNotFound, "get", resource, "web",
				"404 page not found", 0, true), want: kube.Unserved,
		},
		"A 404 that names no object isn't gone": {
			reason: "a proxy or an aggregated API server that doesn't know the path",
			err: apierrors.NewGenericServerResponse(http.StatusNotFound, "get", schema.GroupResource{}, "", "", 0,
				false), want: kube.Unserved,
		},
		"An aggregated API that is down is transient": {
			reason: "503: whether a write has happened isn't known",
			err:    apierrors.NewServiceUnavailable("error trying to reach service"), want: kube.Transient,
		},
		"A webhook that denies as not found is a denial": {
			reason: "a webhook may choose the code", err: deniedAs(http.StatusNotFound, metav1.StatusReasonNotFound),
			want: kube.Unserved, denied: true,
		},
		"A webhook that denies as a conflict is a denial": {
			reason: "a webhook may choose the code", err: deniedAs(http.StatusConflict, metav1.StatusReasonConflict),
			want: kube.Conflict, denied: true,
		},
		"An old resourceVersion is a conflict": {
			reason: "409", err: apierrors.NewConflict(resource, "web", errors.New("changed")), want: kube.Conflict},
		"A failed test operation is a conflict": {
			reason: "422 without field errors comes from the patch library",
			err: apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "",
				"testing value /x failed", 0, false),
			want: kube.Conflict,
		},
		"A refused field is invalid": {
			reason: "422 with field errors",
			err:    apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "web", nil), want: kube.Invalid},
		"A lack of permissions is forbidden": {
			reason: "403 from RBAC",
			err:    apierrors.NewForbidden(resource, "web", errors.New("User \"x\" cannot patch resource")),
			want:   kube.Forbidden,
		},
		"A webhook's denial is forbidden and told apart": {
			reason: "403 that names the webhook",
			err: apierrors.NewForbidden(
				resource, "web", errors.New("admission webhook \"other.example.com\" denied the request: no")),
			want: kube.Forbidden, denied: true,
		},
		"Throttling is transient": {reason: "429", err: apierrors.NewTooManyRequests("slow down", 1),
			want: kube.Transient},
		"A broken connection is transient": {reason: "whether a write has happened isn't known",
			err: fmt.Errorf("read: %w", errors.New("connection reset")), want: kube.Transient},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := kube.Classify(tc.err); got != tc.want {
				t.Errorf("%s\nClassify(%v): want %d, got %d", tc.reason, tc.err, tc.want, got)
			}
			if got := kube.DeniedByAdmission(tc.err); tc.err != nil && got != tc.denied {
				t.Errorf("%s\nDeniedByAdmission(%v): want %t, got %t", tc.reason, tc.err, tc.denied, got)
			}
		})
	}
}

// deniedAs is what the API server answers for a webhook that denies with a code of
// its own.
func deniedAs(code int32, reason metav1.StatusReason) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason,
		Message: `admission webhook "other.example.com" denied the request: no such team`}}
}

// A webhook that asks to be tried again has refused the request all the same: nothing was written.
func TestPutOffByAdmission(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"a webhook that can't judge for now": {deniedAs(503, metav1.StatusReasonServiceUnavailable), true},
		"a denial":                           {deniedAs(403, metav1.StatusReasonForbidden), false},
		"a server that is down":              {apierrors.NewServiceUnavailable("error trying to reach service"), false},
		"a webhook that can't be reached": {apierrors.NewInternalError(
			errors.New(`failed calling webhook "other.example.com": connection refused`)), false},
		"no answer": {errors.New(`admission webhook "x" denied the request`), false},
		"no error":  {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := kube.PutOffByAdmission(tc.err); got != tc.want {
				t.Errorf("PutOffByAdmission(%v): want %t, got %t", tc.err, tc.want, got)
			}
		})
	}
}

func deployment(generation, observed int64, status map[string]any) map[string]any {
	status["observedGeneration"] = observed
	if status["conditions"] == nil {
		status["conditions"] = []any{map[string]any{"type": "Available", "status": "True"}}
	}
	return map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "generation": generation},
		"spec":     map[string]any{"replicas": int64(1)}, "status": status}
}

func TestOtherManager(t *testing.T) {
	at := func(hour int) *metav1.Time {
		stamp := metav1.Date(2026, 3, 1, hour, 0, 0, 0, time.UTC)
		return &stamp
	}
	obj := &metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
		{Manager: "helm", Time: at(9)},
		{Manager: "kube-controller-manager", Subresource: "status", Time: at(12)},
		{Manager: "night-job", Time: at(10)},
		{Manager: "evenkeel", Time: at(11)},
		{Manager: "evenkeel-rollback", Time: at(11)},
	}}
	if got, want := kube.OtherManager(obj, "evenkeel"), "night-job, at 2026-03-01T10:00:00Z"; got != want {
		t.Errorf("the last writer but us and the status: want %q, got %q", want, got)
	}
	if got := kube.OtherManager(&metav1.ObjectMeta{}, "evenkeel"); got != "somebody" {
		t.Errorf("an object that doesn't tell: got %q", got)
	}
}
