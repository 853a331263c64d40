// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"strings"
	"testing"
	"time"
)

func TestSLOFlagsAreChecked(t *testing.T) {
	const month = 720 * time.Hour
	cases := map[string]struct {
		reason     string
		o          sloOptions
		prometheus string
		want       []string
	}{
		"No query asks for nothing": {reason: "The global breaker watches no budget.",
			o: sloOptions{objective: "nonsense", interval: time.Second}},
		"A whole objective is right": {
			reason:     "All is there.",
			o:          sloOptions{query: "errors", objective: "99.9", period: month, interval: time.Minute},
			prometheus: "http://prometheus:9090"},
		"A query needs somebody to ask": {
			reason: "It would hold everything for ever.",
			o:      sloOptions{query: "errors", objective: "99.9", period: month, interval: time.Minute},
			want:   []string{"--prometheus-url"}},
		"What is wrong is named at once": {
			reason: "Both are.", o: sloOptions{query: "sum(", objective: "100", period: month, interval: time.Minute},
			prometheus: "http://prometheus:9090", want: []string{"--slo-query isn't PromQL", `objective "100"`}},
		"A query is asked once a second at most": {
			reason: "Breakers would do nothing else.", o: sloOptions{interval: 999 * time.Millisecond},
			want: []string{"--slo-interval 999ms: must be 1s or longer"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := tc.o.Validate(tc.prometheus)
			if (err == nil) != (tc.want == nil) {
				t.Fatalf("%s\nerror %v, want %v", tc.reason, err, tc.want)
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s\nerror %v doesn't say %q", tc.reason, err, part)
				}
			}
		})
	}
}
