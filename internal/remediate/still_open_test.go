// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/breakertest"
)

// The gate is asked of what the API server and the catalog hold now, not of what
// the step began with.
func TestTheGateIsAskedAgainOfWhatIsThere(t *testing.T) {
	cases := map[string]struct {
		meanwhile func(*breakertest.Circuit, client.Client, *v1alpha1.Remediation)
		why       string
	}{
		"nothing has changed": {func(*breakertest.Circuit, client.Client, *v1alpha1.Remediation) {}, ""},
		"a person has paused the plan": {func(c *breakertest.Circuit, api client.Client, rem *v1alpha1.Remediation) {
			rem.Spec.DesiredState = v1alpha1.StatePaused
			c.Must(api.Update(c.Ctx, rem))
		}, v1alpha1.ReasonPaused},
		"a person has ended the plan": {func(c *breakertest.Circuit, api client.Client, rem *v1alpha1.Remediation) {
			rem.Spec.DesiredState = v1alpha1.StateAborted
			c.Must(api.Update(c.Ctx, rem))
		}, v1alpha1.ReasonAborted},
		"somebody has deleted the plan": {func(c *breakertest.Circuit, api client.Client, rem *v1alpha1.Remediation) {
			c.Must(api.Delete(c.Ctx, rem))
		}, v1alpha1.ReasonPolicyChanged},
		"the policy's mode is Disabled": {func(c *breakertest.Circuit, _ client.Client, _ *v1alpha1.Remediation) {
			c.Policy("missing", func(s *v1alpha1.RolloutStrategy) { s.Mode = v1alpha1.RemediationDisabled })
		}, v1alpha1.ReasonPolicyChanged},
		"the policy's mode is Disabled, and its rule doesn't compile": {
			func(c *breakertest.Circuit, api client.Client, _ *v1alpha1.Remediation) {
				c.Must(api.Create(c.Ctx, &v1alpha1.ClusterRegoPolicy{
					ObjectMeta: metav1.ObjectMeta{Name: "tags", UID: "policy-uid"},
					Spec: v1alpha1.RegoPolicySpec{
						Remediation: v1alpha1.PolicyRemediation{
							RolloutStrategy: v1alpha1.RolloutStrategy{Mode: v1alpha1.RemediationDisabled}}}}))
			}, v1alpha1.ReasonPolicyChanged},
		"the policy's rule has changed": {func(c *breakertest.Circuit, _ client.Client, _ *v1alpha1.Remediation) {
			c.Policy("other", func(*v1alpha1.RolloutStrategy) {})
		}, v1alpha1.ReasonPolicyChanged},
		"the kill switch was thrown": {func(c *breakertest.Circuit, _ client.Client, rem *v1alpha1.Remediation) {
			_, err := c.Consult(c.Ctx, rem) // the breakers are there
			c.Must(err)
			c.Kept.Kept["global"].Spec.Mode = v1alpha1.BreakerForcedOpen
		}, v1alpha1.ReasonBreakerOpen},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := breakertest.New(t)
			scheme := runtime.NewScheme()
			c.Must(v1alpha1.AddToScheme(scheme))
			rem := c.Plan("a")
			rem.UID = "plan-uid"
			api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(rem).Build()
			live := &v1alpha1.Remediation{}
			c.Must(api.Get(c.Ctx, client.ObjectKeyFromObject(rem), live))
			control := &Controller{reader: api, breakers: c.Set, policies: c.Catalog, clock: c.Time}
			tc.meanwhile(c, api, live)
			gate, err := control.stillOpen(c.Ctx, rem)
			if c.Must(err); gate.Closed != (tc.why != "") || gate.Reason != tc.why {
				t.Errorf("want %q, got %+v", tc.why, gate)
			}
		})
	}
}
