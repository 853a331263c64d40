// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// The flags of the manager that bound every strategy.
const (
	FlagMaxMode          = "--remediation-max-mode"
	FlagDistinctApprover = "--remediation-require-distinct-approver"
	FlagSourcesReviewed  = "--remediation-sources-are-reviewed"
	FlagMaxWave          = "--remediation-max-wave"
	FlagMaxInFlight      = "--remediation-max-in-flight"
	FlagMaxTotalInFlight = "--remediation-max-total-in-flight"
	FlagMinSoak          = "--remediation-min-soak"
)

// maxMinSoak is the longest soak that may be asked of every policy.
const maxMinSoak = 7 * 24 * time.Hour

// Floors is how careful every strategy must be at the least, whatever a policy asks
// for. The zero value asks for nothing.
type Floors struct {
	// MaxMode is the most that any policy may do by itself; empty: what it asks for.
	MaxMode v1alpha1.RemediationMode
	// DistinctApprover lets nobody approve a plan who has written its policy.
	DistinctApprover bool
	// SourcesReviewed says that the repositories of PolicySources let nothing in
	// without a second person, so that DistinctApprover asks for no other there.
	SourcesReviewed bool
	// MaxWave is the largest wave, as a count or a share of what a plan may write;
	// nil: any.
	MaxWave *intstr.IntOrString
	// MaxInFlight is the most targets of a plan that are written before they are
	// verified; 0: any number.
	MaxInFlight int32
	// MaxTotalInFlight is the largest number of targets in flight over all plans, as a count
	// or a share of what a plan may write; nil: any.
	MaxTotalInFlight *intstr.IntOrString
	// MinSoak is the shortest soak of a wave; 0: any.
	MinSoak time.Duration
}

// Validate says what is wrong with the flags, all at once.
func (f *Floors) Validate() error {
	var errs []error
	if f.MaxMode != "" && !slices.Contains(modes(), f.MaxMode) {
		errs = append(errs, fmt.Errorf("%s %q: must be Automatic, Manual, DryRun or Disabled", FlagMaxMode, f.MaxMode))
	}
	errs = append(errs, checkShare(FlagMaxWave, f.MaxWave), checkShare(FlagMaxTotalInFlight, f.MaxTotalInFlight))
	if f.MaxInFlight < 0 || f.MaxInFlight > 100 {
		errs = append(errs, fmt.Errorf("%s %d: must be from 1 to 100, or 0 for no limit", FlagMaxInFlight,
			f.MaxInFlight))
	}
	if f.MinSoak < 0 || f.MinSoak > maxMinSoak {
		errs = append(errs, fmt.Errorf("%s %s: must be from 0 to %s", FlagMinSoak, f.MinSoak, maxMinSoak))
	}
	if f.SourcesReviewed && !f.DistinctApprover {
		errs = append(errs, fmt.Errorf("%s means nothing without %s", FlagSourcesReviewed, FlagDistinctApprover))
	}
	return errors.Join(errs...)
}

func checkShare(flag string, share *intstr.IntOrString) error {
	if share != nil && shareOf(*share, 100) == 0 {
		return fmt.Errorf(`%s %q: must be a count of at least 1, or a percentage from "1%%" to "100%%"`, flag,
			share.String())
	}
	return nil
}

// modes are the modes of remediation, the least first.
func modes() []v1alpha1.RemediationMode {
	return []v1alpha1.RemediationMode{v1alpha1.RemediationDisabled, v1alpha1.RemediationDryRun,
		v1alpha1.RemediationManual, v1alpha1.RemediationAutomatic}
}

// Mode is how far remediation goes by itself where a policy asks for a mode.
func (f *Floors) Mode(asked v1alpha1.RemediationMode) v1alpha1.RemediationMode {
	if f.MaxMode != "" && slices.Index(modes(), f.MaxMode) < slices.Index(modes(), asked) {
		return f.MaxMode
	}
	return asked
}

// Wave is the largest wave of a plan that may write so many targets; 0 means that no
// wave is too large.
func (f *Floors) Wave(total int) int {
	if f.MaxWave == nil {
		return 0
	}
	return shareOf(*f.MaxWave, max(total, 1))
}

// Rollout is a plan's rollout and waves as the administrator lets them be, for a plan that may
// write so many targets, and what was changed of what its policy and strategy ask for. How
// large a wave is isn't looked at: see Wave.
func (f *Floors) Rollout(asked v1alpha1.PlannedRollout, waves []v1alpha1.PlannedWave, writable int) (
	v1alpha1.PlannedRollout, []v1alpha1.PlannedWave, []v1alpha1.AppliedLimit) {
	r, slowed, changed := f.Pace(asked, waves, writable)
	if r.Mode = f.Mode(asked.Mode); r.Mode != asked.Mode {
		changed = append([]v1alpha1.AppliedLimit{
			{Field: "mode", Asked: string(asked.Mode), Allowed: string(r.Mode), Flag: FlagMaxMode}}, changed...)
	}
	if f.DistinctApprover && r.Mode == v1alpha1.RemediationManual && !asked.RequireDistinctApprover {
		changed = append(changed, v1alpha1.AppliedLimit{Field: "approval.requireDistinctApprover", Asked: "false",
			Allowed: "true", Flag: FlagDistinctApprover})
	}
	return r, slowed, changed
}

// Pace is Rollout without its mode and its approval: what also holds for plans that
// were made before the flags were set.
func (f *Floors) Pace(r v1alpha1.PlannedRollout, waves []v1alpha1.PlannedWave, writable int) (
	v1alpha1.PlannedRollout, []v1alpha1.PlannedWave, []v1alpha1.AppliedLimit) {
	var changed []v1alpha1.AppliedLimit
	if f.MaxInFlight > 0 && r.MaxInFlight > f.MaxInFlight {
		changed = append(changed, v1alpha1.AppliedLimit{Field: "maxInFlight", Asked: strconv.Itoa(int(r.MaxInFlight)),
			Allowed: strconv.Itoa(int(f.MaxInFlight)), Flag: FlagMaxInFlight})
		r.MaxInFlight = f.MaxInFlight
	}
	if f.MaxTotalInFlight != nil {
		most := int32(shareOf(*f.MaxTotalInFlight, max(writable, 1))) //nolint:gosec // at most MaxTargets, or an int32.
		if r.MaxTotalInFlight == 0 || most < r.MaxTotalInFlight {
			r.MaxTotalInFlight = most
		}
	}
	slowed, shortest := slices.Clone(waves), f.MinSoak
	for i := range slowed {
		shortest = min(shortest, slowed[i].Soak.Duration)
		slowed[i].Soak.Duration = max(slowed[i].Soak.Duration, f.MinSoak)
	}
	if shortest < f.MinSoak {
		changed = append(changed, v1alpha1.AppliedLimit{Field: "soak", Asked: shortest.String(),
			Allowed: f.MinSoak.String(), Flag: FlagMinSoak})
	}
	return r, slowed, changed
}

// shareOf is the number of targets that a share means: percentages round down, at
// least 1. It is 0 for what can't be read.
func shareOf(v intstr.IntOrString, total int) int {
	if v.Type == intstr.Int {
		return max(int(v.IntVal), 0)
	}
	digits, percent := strings.CutSuffix(v.StrVal, "%")
	n, err := strconv.Atoi(digits)
	if !percent || err != nil || n < 1 || n > 100 || digits != strconv.Itoa(n) {
		return 0
	}
	return max(total*n/100, 1)
}
