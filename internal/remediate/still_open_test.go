// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/internal/remediate/freeze"
	"evenkeel.dev/evenkeel/test/breakertest"
	"evenkeel.dev/evenkeel/test/fixture"
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
		"a person has paused the plan until a time to come": {
			func(c *breakertest.Circuit, api client.Client, rem *v1alpha1.Remediation) {
				rem.Spec.DesiredState, rem.Spec.PausedUntilTime = v1alpha1.StatePaused,
					&metav1.Time{Time: c.Time.Now().Add(time.Second)}
				c.Must(api.Update(c.Ctx, rem))
			}, v1alpha1.ReasonPaused},
		"a person's pause has ended": {
			func(c *breakertest.Circuit, api client.Client, rem *v1alpha1.Remediation) {
				rem.Spec.DesiredState, rem.Spec.PausedUntilTime = v1alpha1.StatePaused, &metav1.Time{Time: c.Time.Now()}
				c.Must(api.Update(c.Ctx, rem))
			}, ""},
		"a person has ended the plan": {func(c *breakertest.Circuit, api client.Client, rem *v1alpha1.Remediation) {
			rem.Spec.DesiredState = v1alpha1.StateAborted
			c.Must(api.Update(c.Ctx, rem))
		}, v1alpha1.ReasonAborted},
		"somebody has deleted the plan": {func(c *breakertest.Circuit, api client.Client, rem *v1alpha1.Remediation) {
			c.Must(api.Delete(c.Ctx, rem))
		}, v1alpha1.ReasonPolicyChanged},
		"the policy's mode is Disabled": {func(c *breakertest.Circuit, _ client.Client, _ *v1alpha1.Remediation) {
			c.Policy("missing", func(s *fixture.Rollout) { s.Mode = v1alpha1.RemediationDisabled })
		}, v1alpha1.ReasonPolicyChanged},
		"the policy's mode is Disabled, and its rule doesn't compile": {
			func(c *breakertest.Circuit, api client.Client, _ *v1alpha1.Remediation) {
				c.Must(api.Create(c.Ctx, &v1alpha1.ClusterRegoPolicy{
					ObjectMeta: metav1.ObjectMeta{Name: "tags", UID: "policy-uid"},
					Spec: v1alpha1.RegoPolicySpec{
						Remediation: v1alpha1.PolicyRemediation{
							Mode: v1alpha1.RemediationDisabled}}}))
			}, v1alpha1.ReasonPolicyChanged},
		"the policy's rule has changed": {func(c *breakertest.Circuit, _ client.Client, _ *v1alpha1.Remediation) {
			c.Policy("other", func(*fixture.Rollout) {})
		}, v1alpha1.ReasonPolicyChanged},
		"the kill switch was thrown": {func(c *breakertest.Circuit, _ client.Client, rem *v1alpha1.Remediation) {
			_, err := c.Consult(c.Ctx, rem) // the breakers are there
			c.Must(err)
			c.Kept.Kept["global"].Spec.Mode = v1alpha1.BreakerForcedOpen
		}, v1alpha1.ReasonBreakerOpen},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := breakertest.New(t).In("shop")
			c.Change(breaker.NamespaceScope("shop"), func(*v1alpha1.RemediationBreaker) {})
			c.Kept.Kept["namespace-shop"].Spec.Mode = v1alpha1.BreakerForcedOpen
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
			if kept := gate.KeptBack["shop"] != ""; kept != (tc.why == "") {
				t.Errorf("the namespace's kill switch was thrown, and it says %+v", gate)
			}
		})
	}
}

// The windows and the freezes are asked again too; the word of a person lets them be, and nothing else.
func TestTheCalendarIsAskedAgainUnlessAPersonOverridesIt(t *testing.T) {
	const never = "freezes: [{name: always, reason: nobody is there, until: 2999-01-01T00:00:00Z}]"
	shut := []v1alpha1.PlannedWindow{{Kind: v1alpha1.WindowDeny, Schedule: "0 0 * * *", TimeZone: "UTC",
		Duration: metav1.Duration{Duration: 24 * time.Hour}}}
	cases := map[string]struct {
		reason  string
		windows []v1alpha1.PlannedWindow
		freezes string // the file; "-": none is named
		mode    v1alpha1.WindowsMode
		killed  bool
		why     string
	}{
		"neither":              {reason: "nothing is closed", freezes: "-"},
		"a window":             {"its day is denied", shut, "-", "", false, v1alpha1.ReasonNoWindow},
		"a freeze":             {"it is on", nil, never, "", false, v1alpha1.ReasonFrozen},
		"no file":              {"it may hold one", nil, "", "", false, v1alpha1.ReasonFreezesUnreadable},
		"a window, overridden": {"a person may", shut, "-", v1alpha1.WindowsIgnore, false, ""},
		"a freeze, overridden": {"a person may", nil, never, v1alpha1.WindowsIgnore, false, ""},
		"no file, overridden":  {"in an emergency too", nil, "", v1alpha1.WindowsIgnore, false, ""},
		"respected": {"that is the default", nil, never, v1alpha1.WindowsRespect, false,
			v1alpha1.ReasonFrozen},
		"overridden, the breaker open": {"that isn't the calendar's", shut, never, v1alpha1.WindowsIgnore, true,
			v1alpha1.ReasonBreakerOpen},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := breakertest.New(t)
			scheme := runtime.NewScheme()
			c.Must(v1alpha1.AddToScheme(scheme))
			rem := c.Plan("a")
			rem.UID, rem.Spec.Plan.Rollout.Windows, rem.Spec.Windows = "plan-uid", tc.windows, tc.mode
			control := &Controller{reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(rem).Build(),
				breakers: c.Set, policies: c.Catalog, clock: c.Time}
			if tc.freezes != "-" {
				file := filepath.Join(t.TempDir(), "freezes.yaml")
				control.freezes = freeze.File(file)
				if tc.freezes != "" {
					c.Must(os.WriteFile(file, []byte(tc.freezes), 0o600))
				}
			}
			if tc.killed {
				_, err := c.Consult(c.Ctx, rem)
				c.Must(err)
				c.Kept.Kept["global"].Spec.Mode = v1alpha1.BreakerForcedOpen
			}
			gate, err := control.stillOpen(c.Ctx, rem)
			if c.Must(err); gate.Closed != (tc.why != "") || gate.Reason != tc.why {
				t.Errorf("%s: want %q, got %+v", tc.reason, tc.why, gate)
			}
		})
	}
}
