// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

// SeverityRank orders severities, the worst first; none is the last.
func SeverityRank(severity string) (int, error) {
	order := []v1alpha1.Severity{v1alpha1.SeverityCritical, v1alpha1.SeverityHigh, v1alpha1.SeverityMedium,
		v1alpha1.SeverityLow}
	if severity == "" {
		return len(order), nil
	}
	rank := slices.IndexFunc(order, func(s v1alpha1.Severity) bool { return strings.EqualFold(string(s), severity) })
	if rank < 0 {
		return 0, Exit(ExitUsage, fmt.Errorf("the severity %q isn't supported: use Critical, High, Medium or Low%s",
			severity, prose.DidYouMean(severity, []string{"Critical", "High", "Medium", "Low"})))
	}
	return rank, nil
}
