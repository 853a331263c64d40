// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	FlagMaxUnavailable   = "--remediation-max-unavailable"
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
	// MaxUnavailable is the largest number of targets in flight, as a count or a share
	// of what a plan may write; nil: any.
	MaxUnavailable *intstr.IntOrString
	// MinSoak is the shortest soak of a wave; 0: any.
	MinSoak time.Duration
}

// Validate says what is wrong with the flags, all at once.
func (f *Floors) Validate() error {
	var errs []error
	if f.MaxMode != "" && !slices.Contains(modes(), f.MaxMode) {
		errs = append(errs, fmt.Errorf("%s %q: must be Automatic, Manual, DryRun or Disabled", FlagMaxMode, f.MaxMode))
	}
	errs = append(errs, checkShare(FlagMaxWave, f.MaxWave), checkShare(FlagMaxUnavailable, f.MaxUnavailable))
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

// Strategy is a strategy as the administrator lets it be, and what was changed of it.
// Percentages are of total, the number of targets that the plan may write; while that
// isn't known, 0, a count and a percentage can't be compared and stay as they are.
// Waves aren't looked at: see Wave.
func (f *Floors) Strategy(asked v1alpha1.RolloutStrategy, total int) (
	v1alpha1.RolloutStrategy, []v1alpha1.AppliedLimit) {
	s, changed := f.Pace(asked, total)
	if s.Mode = f.Mode(asked.Mode); s.Mode != asked.Mode {
		changed = append([]v1alpha1.AppliedLimit{
			{Field: "mode", Asked: string(asked.Mode), Allowed: string(s.Mode), Flag: FlagMaxMode}}, changed...)
	}
	if f.DistinctApprover && s.Mode == v1alpha1.RemediationManual && !asked.Approval.RequireDistinctApprover {
		changed = append(changed, v1alpha1.AppliedLimit{Field: "approval.requireDistinctApprover", Asked: "false",
			Allowed: "true", Flag: FlagDistinctApprover})
	}
	return s, changed
}

// Pace is Strategy without its mode and its approval: what also holds for plans that
// were made before the flags were set.
func (f *Floors) Pace(s v1alpha1.RolloutStrategy, total int) (v1alpha1.RolloutStrategy, []v1alpha1.AppliedLimit) {
	var changed []v1alpha1.AppliedLimit
	note := func(field, asked, allowed, flag string) {
		changed = append(changed, v1alpha1.AppliedLimit{Field: field, Asked: asked, Allowed: allowed, Flag: flag})
	}
	if f.MaxInFlight > 0 && s.MaxInFlight > f.MaxInFlight {
		note("maxInFlight", strconv.Itoa(int(s.MaxInFlight)), strconv.Itoa(int(f.MaxInFlight)), FlagMaxInFlight)
		s.MaxInFlight = f.MaxInFlight
	}
	if soak := s.EffectiveSoak(); soak < f.MinSoak {
		note("soak", soak.String(), f.MinSoak.String(), FlagMinSoak)
		s.Soak = &metav1.Duration{Duration: f.MinSoak}
	}
	if soak := s.Canary.Soak; soak != nil && soak.Duration < f.MinSoak {
		note("canary.soak", soak.Duration.String(), f.MinSoak.String(), FlagMinSoak)
		s.Canary.Soak = &metav1.Duration{Duration: f.MinSoak}
	}
	var asked *intstr.IntOrString
	if s.Budget != nil {
		asked = s.Budget.MaxUnavailable
	}
	if f.MaxUnavailable != nil && looser(asked, *f.MaxUnavailable, total) {
		note("budget.maxUnavailable", shareText(asked), f.MaxUnavailable.String(), FlagMaxUnavailable)
		budget := v1alpha1.BudgetStrategy{}
		if s.Budget != nil {
			budget = *s.Budget
		}
		limit := *f.MaxUnavailable
		budget.MaxUnavailable, s.Budget = &limit, &budget
	}
	return s, changed
}

// looser says whether a share allows more than a limit. One that can't be read means
// 0, and allows nothing.
func looser(asked *intstr.IntOrString, limit intstr.IntOrString, total int) bool {
	switch {
	case asked == nil:
		return true
	case total <= 0 && asked.Type != limit.Type:
		return false
	case total <= 0:
		total = 100 * v1alpha1.MaxTargets // large enough to tell any two shares of one form apart
	}
	return shareOf(*asked, total) > shareOf(limit, total)
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

func shareText(v *intstr.IntOrString) string {
	if v == nil {
		return "none"
	}
	return v.String()
}
