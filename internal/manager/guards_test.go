// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestGuardsThatDontProtectAreReported(t *testing.T) {
	var logged strings.Builder
	log := funcr.New(func(_, args string) { logged.WriteString(args + "\n") }, funcr.Options{})
	api := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build()
	g, err := newGuards(api, prometheus.NewRegistry(), log)
	if err != nil {
		t.Fatal(err)
	}
	expect := func(broken int, says ...string) {
		t.Helper()
		logged.Reset()
		g.check(t.Context())
		if got := testutil.ToFloat64(g.broken); got != float64(broken) {
			t.Errorf("%v are broken, want %d:\n%s", got, broken, logged.String())
		}
		if got := strings.Count(logged.String(), "\n"); got != broken {
			t.Errorf("%d errors are logged, want %d:\n%s", got, broken, logged.String())
		}
		for _, part := range says {
			if !strings.Contains(logged.String(), part) {
				t.Errorf("the log doesn't say %q:\n%s", part, logged.String())
			}
		}
	}
	expect(len(g.policies)+len(g.bindings), "ValidatingAdmissionPolicy evenkeel-records isn't there",
		"ValidatingAdmissionPolicyBinding evenkeel-records isn't there",
		"kubectl apply --server-side -f config/rbac/requests_policy.yaml")
	for _, p := range g.policies {
		if err := api.Create(t.Context(), p.DeepCopy()); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range g.bindings {
		if err := api.Create(t.Context(), b.DeepCopy()); err != nil {
			t.Fatal(err)
		}
	}
	expect(0)

	named := metav1.ObjectMeta{Name: "evenkeel-records"}
	if err := api.Delete(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: named}); err != nil {
		t.Fatal(err)
	}
	expect(1, "ValidatingAdmissionPolicyBinding evenkeel-records isn't there")

	ignore := admissionregistrationv1.Ignore
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named}
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(policy), policy); err != nil {
		t.Fatal(err)
	}
	policy.Spec.FailurePolicy = &ignore
	if err := api.Update(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	expect(2, "failurePolicy Ignore")
}
