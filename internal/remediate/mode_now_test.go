package remediate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/escalate"
	"evenkeel.dev/evenkeel/internal/limits"
)

func TestAModeThatIsNotAllowedByNowStopsAPlan(t *testing.T) {
	c := newCircuit(t) // its policy asks for Automatic
	cases := map[string]struct {
		reason string
		frozen v1alpha1.RemediationMode
		most   v1alpha1.RemediationMode
		want   string // of the stop; empty: the plan goes on
	}{
		"what is allowed goes on":                    {frozen: v1alpha1.RemediationAutomatic, most: v1alpha1.RemediationAutomatic},
		"an Automatic plan begins nothing more":      {reason: "one in mode Manual takes its place, and waits", frozen: v1alpha1.RemediationAutomatic, most: v1alpha1.RemediationManual, want: v1alpha1.ReasonAdministratorLimit},
		"a plan in the mode that is allowed goes on": {frozen: v1alpha1.RemediationManual, most: v1alpha1.RemediationManual},
		"nothing goes on where nothing is allowed":   {frozen: v1alpha1.RemediationManual, most: v1alpha1.RemediationDisabled, want: v1alpha1.ReasonAdministratorLimit},
		"once more is allowed another plan is made":  {frozen: v1alpha1.RemediationManual, want: v1alpha1.ReasonPolicyChanged},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rem := c.plan("a")
			rem.Spec.Plan.Strategy.Mode = tc.frozen
			if reason, message := stop(rem, c.catalog.Snapshot(), nil, &limits.Floors{MaxMode: tc.most}); reason != tc.want {
				t.Errorf("%s: got %q: %s", tc.reason, reason, message)
			}
		})
	}
}

func TestThreeOpeningsDemoteUntilTheRuleChanges(t *testing.T) {
	c := newCircuit(t)
	for i := range 3 {
		c.opened(fmt.Sprint(i))
		c.after(3 * time.Hour)
		c.reconciled("policy-tags")
	}
	pol := c.catalog.Snapshot().Definition("tags")
	if mode, err := c.mode(c.ctx, pol, v1alpha1.RemediationAutomatic); err != nil || mode != v1alpha1.RemediationDryRun {
		t.Fatalf("after three openings plans are made in mode %s (%v)", mode, err)
	}
	if told := c.told(); !strings.Contains(told, escalate.ReasonPolicyDemoted) {
		t.Errorf("told: %s", told)
	}
	if gate := c.admitted(c.plan("a")); !gate.Closed || gate.Reason != v1alpha1.ReasonDemoted {
		t.Errorf("the gate says %+v", gate)
	}
	demoted, err := c.demoted(c.ctx, "tags")
	c.must(err)
	running, preview := c.plan("a"), c.plan("b")
	preview.Spec.Plan.Strategy.Mode = v1alpha1.RemediationDryRun
	if reason, message := stop(running, c.catalog.Snapshot(), demoted, &limits.Floors{}); reason != v1alpha1.ReasonDemoted || !strings.Contains(message, "3 times") {
		t.Errorf("a plan that runs is stopped by %q: %s", reason, message)
	}
	if reason, _ := stop(preview, c.catalog.Snapshot(), demoted, &limits.Floors{}); reason != "" {
		t.Errorf("the dry run is stopped by %q", reason)
	}
	c.policy("absent", func(*v1alpha1.RolloutStrategy) {})
	if st := c.reconciled("policy-tags").Status; st.Demoted != nil || !strings.Contains(c.told(), escalate.ReasonDemotionEnded) {
		t.Errorf("after a new revision: %+v", st.Demoted)
	}
	if reason, _ := stop(preview, c.catalog.Snapshot(), nil, &limits.Floors{}); reason != v1alpha1.ReasonPolicyChanged {
		t.Errorf("the dry run of the old revision is stopped by %q", reason)
	}
}
