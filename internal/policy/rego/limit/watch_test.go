// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/policy/rego/size"
)

// TestWhatIsSpentCountsTowardsTheLimit has an evaluation of an hour, of which most is spent.
func TestWhatIsSpentCountsTowardsTheLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		spent time.Duration
		over  bool
	}{
		"nothing is spent":   {0, false},
		"an hour is spent":   {time.Hour, true},
		"more than the hour": {2 * time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := NewWatch(Options{Time: time.Hour, Spent: tc.spent, Parts: 1, Scale: size.NewScale(100)})
			defer w.Stop()
			w.Begin()
			for deadline := time.Now().Add(10 * time.Second); tc.over && !w.over(); {
				if time.Now().After(deadline) {
					t.Fatal("it isn't over after ten seconds")
				}
			}
			if w.over() != tc.over {
				t.Errorf("over %v, want %v", w.over(), tc.over)
			}
		})
	}
}

// TestACancelledEvaluationStaysSo has the share of a part end after all were cancelled.
func TestACancelledEvaluationStaysSo(t *testing.T) {
	w := NewWatch(Options{Time: time.Hour, Parts: 300, Scale: size.NewScale(100)})
	defer w.Stop()
	w.Begin()
	w.Cancel()
	w.stop(1)
	w.Begin()
	if !w.over() {
		t.Error("the second part runs although all were cancelled")
	}
}
