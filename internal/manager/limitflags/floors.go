// SPDX-License-Identifier: Apache-2.0

package limitflags

import (
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/intstr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/limits"
)

// Floors are the flags that say how careful every remediation must be at the
// least, whatever a policy asks for.
type Floors struct {
	maxMode          string
	distinctApprover bool
	sourcesReviewed  bool
	maxWave          string
	maxInFlight      int32
	maxTotal         string
	minSoak          time.Duration
}

// AddFlags adds the flags with their defaults.
func (o *Floors) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.maxMode, "remediation-max-mode", "", "the most that any policy may do by itself: Automatic, Manual "+
		"(each plan waits for a person's approval), DryRun or Disabled (default: what the policy asks for)")
	f.BoolVar(&o.distinctApprover, "remediation-require-distinct-approver", false, "let nobody approve a plan who has "+
		"ever changed its policy, whatever the policy says (default: where the policy asks for it)")
	f.BoolVar(&o.sourcesReviewed, "remediation-sources-are-reviewed", false, "the repositories of all PolicySources "+
		"let nothing in without a second person's review: --remediation-require-distinct-approver doesn't refuse "+
		"their plans because their committers are unknown (default: it does)")
	f.StringVar(&o.maxWave, "remediation-max-wave", "", "the largest wave, canaries included, as a count or as a "+
		"percentage of what the plan may write (rounded down, at least 1); larger ones are split (default: any)")
	f.Int32Var(&o.maxInFlight, "remediation-max-in-flight", 0, "the most targets of a plan that are written before "+
		"they are verified, 1 to 100; caps maxInFlight of strategies (default: what the strategy asks for)")
	f.StringVar(&o.maxTotal, "remediation-max-total-in-flight", "", "the largest number of targets in flight over all "+
		"plans, as a count or as a percentage of what the plan may write (default: any)")
	f.DurationVar(&o.minSoak, "remediation-min-soak", 0, "the shortest time that a wave, canaries included, must stay "+
		"verified before the next begins, up to 168h (default: what the strategy asks for)")
}

// Value is what the flags mean.
func (o *Floors) Value() limits.Floors {
	return limits.Floors{MaxMode: v1alpha1.RemediationMode(o.maxMode), DistinctApprover: o.distinctApprover,
		SourcesReviewed: o.sourcesReviewed,
		MaxWave:         share(o.maxWave), MaxInFlight: o.maxInFlight, MaxTotalInFlight: share(o.maxTotal),
		MinSoak: o.minSoak}
}

// share is a count or a percentage, or nil where none is given.
func share(text string) *intstr.IntOrString {
	if text == "" {
		return nil
	}
	v := intstr.Parse(text)
	return &v
}

// Validate says what is wrong with the flags, all at once.
func (o *Floors) Validate() error {
	f := o.Value()
	return f.Validate()
}
