package webhook

import (
	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

// checkStrategy finds what is wrong with a remediation strategy.
func checkStrategy(s *v1alpha1.RolloutStrategy) []problem {
	var out problems
	for _, found := range canary.Validate(s) {
		out.addIf(found.Message, "spec.remediation."+found.Field)
	}
	return out
}
