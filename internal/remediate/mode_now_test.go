// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/test/breakertest"
	"evenkeel.dev/evenkeel/test/fixture"
)

func TestAModeThatIsNotAllowedByNowStopsAPlan(t *testing.T) {
	c := breakertest.New(t) // its policy asks for Automatic
	cases := map[string]struct {
		reason string
		frozen v1alpha1.RemediationMode
		most   v1alpha1.RemediationMode
		want   string // of the stop; empty: the plan goes on
	}{
		"what is allowed goes on": {
			frozen: v1alpha1.RemediationAutomatic, most: v1alpha1.RemediationAutomatic},
		"an Automatic plan begins nothing more": {reason: "one in mode Manual takes its place, and waits",
			frozen: v1alpha1.RemediationAutomatic, most: v1alpha1.RemediationManual,
			want: v1alpha1.ReasonPolicyChanged},
		"a plan in the mode that is allowed goes on": {
			frozen: v1alpha1.RemediationManual, most: v1alpha1.RemediationManual},
		"nothing goes on where nothing is allowed": {
			frozen: v1alpha1.RemediationManual, most: v1alpha1.RemediationDisabled,
			want: v1alpha1.ReasonPolicyChanged},
		"once more is allowed another plan is made": {
			frozen: v1alpha1.RemediationManual, want: v1alpha1.ReasonPolicyChanged},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rem := c.Plan("a")
			rem.Spec.Plan.Rollout.Mode = tc.frozen
			if reason, message := stop(rem, c.Catalog.Snapshot(), nil,
				&limits.Floors{MaxMode: tc.most}); reason != tc.want {
				t.Errorf("%s: got %q: %s", tc.reason, reason, message)
			}
		})
	}
}

func TestThreeOpeningsDemoteUntilTheRuleChanges(t *testing.T) {
	c := breakertest.New(t)
	for i := range 3 {
		c.Opened(fmt.Sprint(i))
		c.After(3 * time.Hour)
		c.Reconciled("policy-tags")
	}
	pol := c.Catalog.Snapshot().Definition("tags")
	if mode, err := c.Mode(c.Ctx, pol, v1alpha1.RemediationAutomatic); err != nil ||
		mode != v1alpha1.RemediationDryRun {
		t.Fatalf("after three openings plans are made in mode %s (%v)", mode, err)
	}
	if told := c.Told(); !strings.Contains(told, v1alpha1.EventPolicyDemoted) {
		t.Errorf("told: %s", told)
	}
	if gate := c.Admitted(c.Plan("a")); !gate.Closed || gate.Reason != v1alpha1.ReasonDemoted {
		t.Errorf("the gate says %+v", gate)
	}
	demoted, err := c.Demoted(c.Ctx, "tags")
	c.Must(err)
	running, preview := c.Plan("a"), c.Plan("b")
	preview.Spec.Plan.Rollout.Mode = v1alpha1.RemediationDryRun
	if reason, message := stop(running, c.Catalog.Snapshot(), demoted,
		&limits.Floors{}); reason != v1alpha1.ReasonDemoted || !strings.Contains(message, "3 times") {
		t.Errorf("a plan that runs is stopped by %q: %s", reason, message)
	}
	if reason, _ := stop(preview, c.Catalog.Snapshot(), demoted, &limits.Floors{}); reason != "" {
		t.Errorf("the dry run is stopped by %q", reason)
	}
	c.Policy("absent", func(*fixture.Rollout) {})
	if st := c.Reconciled("policy-tags").Status; st.Demoted != nil ||
		!strings.Contains(c.Told(), v1alpha1.EventDemotionEnded) {
		t.Errorf("after a new revision: %+v", st.Demoted)
	}
	if reason, _ := stop(preview, c.Catalog.Snapshot(), nil, &limits.Floors{}); reason != v1alpha1.ReasonPolicyChanged {
		t.Errorf("the dry run of the old revision is stopped by %q", reason)
	}
}
