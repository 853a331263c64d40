// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/recorded"
)

// denied is an error of admission, as the API server gives it.
func denied(by string) error {
	return apierrors.NewForbidden(schema.GroupResource{}, "", errors.New(by+" denied the request: no"))
}

// answering answers what is tried: policies with the first, overrides in order with the others; who asks is filled in
// where signs says so.
func answering(signs bool, policies error, overrides ...error) interceptor.Funcs {
	return interceptor.Funcs{Create: func(_ context.Context, _ client.WithWatch, o client.Object,
		_ ...client.CreateOption) error {
		override, is := o.(*v1alpha1.PolicyOverride)
		if !is {
			return policies
		}
		if signs {
			recorded.Requests(override, []v1alpha1.RequestRecord{{Action: v1alpha1.ActionOverride, User: "dana"}}...)
		}
		err := overrides[0]
		overrides = overrides[1:]
		return err
	}}
}

// Whoever may not write policies has an override of one tried, which is less telling and needs less.
func TestWhoMayNotWritePoliciesTriesAnOverride(t *testing.T) {
	notPolicies := refused("evenkeel.dev", "clusterregopolicies", "create")
	const refuses = `admission webhook "policyoverrides.evenkeel.dev"`
	cases := map[string]struct {
		answers interceptor.Funcs
		status  Status
		says    string
	}{
		"it is judged": {answering(true, notPolicies, nil, denied(refuses)), OK,
			"the webhook answers and judges an override of a policy; a request through it took 0s"},
		"nobody writes down who asks": {answering(false, notPolicies, nil), Fail,
			"an override doesn't get the name of the user who asks for it: the API server doesn't " +
				"ask override-requests"},
		"nobody refuses the other": {answering(true, notPolicies, nil, nil), Fail,
			"an override that has ended before it begins is let through: the API server doesn't ask policyoverrides"},
		"somebody else refuses the other": {answering(true, notPolicies, nil,
			denied(`admission webhook "other.example.com"`)), Unknown, "whether the webhook judges"},
		"it is refused by name": {answering(true, notPolicies,
			denied(`ValidatingAdmissionPolicy 'evenkeel-overrides' with binding 'evenkeel-overrides'`)), Unknown,
			"whether admission answers couldn't be checked"},
		"nothing answers": {answering(true, notPolicies, apierrors.NewInternalError(errors.New(
			`failed calling webhook "override-requests.evenkeel.dev": connection refused`))), Fail,
			"the API server can't reach the webhook"},
		"neither may be tried": {answering(true, notPolicies, refused("evenkeel.dev", "policyoverrides", "create")),
			Unknown, "you may not create policyoverrides.evenkeel.dev"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := looked(t, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), tc.answers)
			found := admission(t.Context(), in)
			if len(found) != 1 || found[0].Status != tc.status || !strings.Contains(found[0].Message, tc.says) ||
				tc.status != OK && found[0].Do == "" {
				t.Errorf("it finds %+v, want %s: %q, and what to do", found, tc.status, tc.says)
			}
		})
	}
}
