// SPDX-License-Identifier: Apache-2.0

package canary_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

func TestValidateNamesWhatIsWrongWithAnObjective(t *testing.T) {
	cases := map[string]struct {
		reason string
		slo    v1alpha1.SLOStrategy
		want   []string
	}{
		"A whole one is right": {reason: "The period has its default.",
			slo: v1alpha1.SLOStrategy{Query: "q", Objective: "99.9"}},
		"No query, and no budget": {reason: "Both are named.", slo: v1alpha1.SLOStrategy{Query: " ", Objective: "100"},
			want: []string{
				"breaker.slo.query: must be a PromQL query that answers the error ratio over the " +
					"last " +
					"hour",
				`breaker.slo: objective "100" must be a percentage, more than 0 and less than 100, such as "99.9"`,
			}},
		"A period that is too short": {
			reason: "An hour would spend it all.", slo: v1alpha1.SLOStrategy{Query: "q", Objective: "99",
				Period: metav1.Duration{Duration: time.Minute}},
			want: []string{"breaker.slo: period 1m0s must be at least 1h0m0s"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := v1alpha1.RemediationStrategySpec{Breaker: v1alpha1.BreakerStrategy{SLO: &tc.slo}}
			s.SetDefaults()
			s.Breaker.SLO = &tc.slo
			if diff := cmp.Diff(tc.want, texts(canary.Validate(&s))); diff != "" {
				t.Errorf("%s\nValidate (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
