// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// minSLOPeriod is the shortest period: the query of an objective covers the last hour.
const minSLOPeriod = time.Hour

// ErrorBudget returns the ratio of requests that may fail, more than 0 and less than 1.
// It fails if the objective isn't a percentage between 0 and 100 or the period is shorter
// than an hour.
func (s SLOStrategy) ErrorBudget() (float64, error) {
	objective, err := strconv.ParseFloat(s.Objective, 64)
	// Computed in millionths of a percent, which are integers: 100 - 99.9 isn't 0.1 in binary.
	const all = 100e6
	failing := all - math.Round(objective*1e6)
	if err != nil || math.IsNaN(failing) || failing <= 0 || failing >= all {
		return 0, fmt.Errorf(`objective %q must be a percentage, more than 0 and less than 100, such as "99.9"`,
			s.Objective)
	}
	if s.Period.Duration < minSLOPeriod {
		return 0, fmt.Errorf("period %s must be at least %s", s.Period.Duration, minSLOPeriod)
	}
	return failing / all, nil
}
