package main

import (
	"github.com/spf13/pflag"

	"evenkeel.dev/evenkeel/internal/limits"
)

// floorOptions are the flags that say how careful every remediation must be at the
// least, whatever a policy asks for.
type floorOptions struct {
	distinctApprover bool
	sourcesReviewed  bool
}

// AddFlags adds the flags with their defaults.
func (o *floorOptions) AddFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.distinctApprover, "remediation-require-distinct-approver", false, "let nobody approve a plan who has ever changed its policy, whatever the policy says (default: where the policy asks for it)")
	f.BoolVar(&o.sourcesReviewed, "remediation-sources-are-reviewed", false, "the repositories of all PolicySources let nothing in without a second person's review: --remediation-require-distinct-approver doesn't refuse their plans because their committers are unknown (default: it does)")
}

// floors is what the flags mean.
func (o *floorOptions) floors() limits.Floors {
	return limits.Floors{DistinctApprover: o.distinctApprover, SourcesReviewed: o.sourcesReviewed}
}
