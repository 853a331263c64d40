// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/webhook/names"
)

func leaseOf(held time.Time) client.Object {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "evenkeel-system", Name: leaseName},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("a"), LeaseDurationSeconds: ptr.To(int32(15)),
			RenewTime: &metav1.MicroTime{Time: held}}}
}

// outsideTheCluster is what a manager beside the cluster leaves in it.
func outsideTheCluster() []client.Object {
	return []client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "evenkeel-system", Name: "evenkeel"}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: names.Configuration},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: "a", ClientConfig: admissionregistrationv1.
				WebhookClientConfig{URL: ptr.To("https://localhost:9443/validate")}}}}}
}

// looked is an installation with a policy that was scanned a minute ago.
func looked(t *testing.T, now time.Time, answers interceptor.Funcs, objects ...client.Object) *Installation {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, clientgoscheme.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	p.Status.Scan = &v1alpha1.ScanStatus{State: v1alpha1.ScanComplete,
		LastFullScanTime: &metav1.Time{Time: now.Add(-time.Minute)}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, p)...).
		WithInterceptorFuncs(answers).Build()
	return &Installation{Client: c, Clock: testclock.NewFakePassiveClock(now), Namespace: "evenkeel-system",
		ServiceAccount: "evenkeel"}
}

// probed answers the probe by an error.
func probed(err error) interceptor.Funcs {
	return interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object,
		...client.CreateOption) error {
		return err
	}}
}

func TestWhetherAManagerKeepsTheScansUpToDateIsYesNoOrNotKnown(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	unseen := interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey,
		obj client.Object, opts ...client.GetOption) error {
		if _, is := obj.(*coordinationv1.Lease); is {
			return refused("coordination.k8s.io", "leases", "get")
		}
		return c.Get(ctx, key, obj, opts...)
	}}
	unreached := apierrors.NewInternalError(errors.New(`failed calling webhook "a": connection refused`))
	cases := map[string]struct {
		objects []client.Object
		answers interceptor.Funcs
		scan    Status
		says    string
		manager Status // looked at where the manager is outside the cluster
	}{
		"one leads": {objects: []client.Object{leaseOf(now)}, scan: OK, says: "complete and kept up to date"},
		"none has led for an hour": {objects: []client.Object{leaseOf(now.Add(-time.Hour))}, scan: Warn,
			says: "no manager is running"},
		"there is none": {scan: Warn, says: "no manager is running"},
		"the lease may not be read": {objects: []client.Object{leaseOf(now)}, answers: unseen, scan: Unknown,
			says: "whether they are kept up to date couldn't be checked: you may not get leases"},
		"it answers from outside the cluster": {objects: outsideTheCluster(), scan: OK,
			says: "complete and kept up to date", manager: OK},
		"it doesn't answer from outside the cluster": {objects: outsideTheCluster(), answers: probed(unreached),
			scan: Warn, says: "no manager is running", manager: Fail},
		"the probe may not be sent": {objects: outsideTheCluster(),
			answers: probed(refused("evenkeel.dev", "clusterregopolicies", "create")), scan: Unknown,
			says: "whether they are kept up to date couldn't be checked: you may not create", manager: OK},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := looked(t, now, tc.answers, tc.objects...)
			found := scans(t.Context(), in)
			if len(found) != 1 || found[0].Status != tc.scan || !strings.Contains(found[0].Message, tc.says) {
				t.Errorf("of the scan it finds %+v, want %s: %q", found, tc.scan, tc.says)
			}
			if tc.manager == "" {
				return
			}
			if found := manager(t.Context(), in); len(found) != 1 || found[0].Status != tc.manager {
				t.Errorf("of the manager it finds %+v, want %s", found, tc.manager)
			}
		})
	}
}

// What fails because somebody has lost patience says nothing of the installation.
func TestAnInterruptedLookSaysThatItWas(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in := looked(t, time.Unix(0, 0), interceptor.Funcs{})
	in.HTTP, in.Server = http.DefaultClient, "http://127.0.0.1:1"
	found := Run(ctx, in, nil)
	if len(found) != 1 || found[0].Status != Unknown || !strings.HasPrefix(found[0].Message, "interrupted") {
		t.Errorf("found %+v", found)
	}
}
