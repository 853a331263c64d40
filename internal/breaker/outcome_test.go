// SPDX-License-Identifier: Apache-2.0

package breaker_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/breakertest"
)

func TestTheFailureOfAPlanThatWasMadeAnewCountsAnew(t *testing.T) {
	failure := func(uid string, retries int32) rollout.Outcome {
		o := rollout.Observation{UID: types.UID(uid),
			Spec:   v1alpha1.RemediationSpec{Plan: v1alpha1.RemediationPlan{Hash: "same"}},
			Status: v1alpha1.RemediationStatus{Retries: retries}}
		return rollout.Outcome{Type: circuit.TargetFailed, Key: o.Key("w0/failed"), Count: 1}
	}
	c := breakertest.New(t)
	for _, step := range []struct {
		reason  string
		outcome rollout.Outcome
		want    int32
	}{
		{"a plan fails", failure("first", 0), 1},
		{"a crash makes the manager tell it twice", failure("first", 0), 1},
		{"a person has it verified once more, and it fails again", failure("first", 1), 2},
		{"somebody deletes it, and it is made again under its name and hash", failure("second", 0), 3},
	} {
		c.Must(c.Record(c.Ctx, c.Plan("same"), []rollout.Outcome{step.outcome}))
		if got := c.Read("policy-tags").Status.Failures; got != step.want {
			t.Fatalf("%s: %d failures, want %d (%s)", step.reason, got, step.want,
				strings.Join(c.Read("policy-tags").Status.Recorded, " "))
		}
	}
}
