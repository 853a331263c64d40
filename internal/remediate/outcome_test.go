package remediate

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestTheFailureOfAPlanThatWasMadeAnewCountsAnew(t *testing.T) {
	failure := func(uid string, retries int32) Outcome {
		o := Observation{UID: types.UID(uid), Spec: v1alpha1.RemediationSpec{Plan: v1alpha1.RemediationPlan{Hash: "same"}}, Status: v1alpha1.RemediationStatus{Retries: retries}}
		return Outcome{Type: OutcomeFailed, Key: o.key("w0/failed"), Count: 1}
	}
	c := newCircuit(t)
	for _, step := range []struct {
		reason  string
		outcome Outcome
		want    int32
	}{
		{"a plan fails", failure("first", 0), 1},
		{"a crash makes the manager tell it twice", failure("first", 0), 1},
		{"a person has it verified once more, and it fails again", failure("first", 1), 2},
		{"somebody deletes it, and it is made again under its name and hash", failure("second", 0), 3},
	} {
		c.must(c.record(c.ctx, c.plan("same"), []Outcome{step.outcome}))
		if got := c.read("policy-tags").Status.Failures; got != step.want {
			t.Fatalf("%s: %d failures, want %d (%s)", step.reason, got, step.want, strings.Join(c.read("policy-tags").Status.Recorded, " "))
		}
	}
}
