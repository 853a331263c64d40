// SPDX-License-Identifier: Apache-2.0

package circuit

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

const (
	// maxSpent is the share of a period's error budget that an hour may spend: more
	// than half of it stops automation. People are paged long before, at 2 % in an
	// hour (Google's SRE Workbook, "Alerting on SLOs"); this is the point at which
	// nothing should change by itself any more.
	maxSpent = 0.5
	// DefaultSLOInterval is how long an answer of a service level objective's query
	// holds, and so how often the query is asked at most, unless somebody says otherwise.
	DefaultSLOInterval = 30 * time.Second
)

// Answer is what a service level objective's query has answered.
type Answer struct {
	// Ratio is the error ratio over the last hour, from 0 to 1.
	Ratio float64
	// Err says why there is no answer; then Ratio means nothing.
	Err error
}

// Spent is the share of the period's whole error budget that an hour with this
// error ratio has spent:
//
//	ratio * 1h / ((1 - objective) * period)
//
// 1 means all of it (Google's SRE Workbook, "Alerting on SLOs": burn rate times
// the share of the period). It errs when the ratio isn't a number from 0 to 1, or
// when the objective can't be one.
func Spent(ratio float64, slo v1alpha1.SLOStrategy) (float64, error) {
	budget, err := slo.ErrorBudget()
	if err != nil {
		return 0, err
	}
	if math.IsNaN(ratio) || ratio < 0 || ratio > 1 {
		return 0, fmt.Errorf("the query answered %v: it must answer the ratio of errors to all requests, from 0 to 1",
			ratio)
	}
	return ratio / (budget * slo.Period.Hours()), nil // the ratio is that of one hour
}

// Burn is the status of a breaker after the query of its objective was answered at
// now. It lets the time pass first, as Tick does. A breaker that isn't open opens
// when more than half of the budget was spent in the last hour. An answer that
// can't be used opens nothing, and stands in the status as Unknown: SLOGate lets
// no new write begin then. A strategy without an objective forgets the answer.
func Burn(st v1alpha1.RemediationBreakerStatus, a Answer, s v1alpha1.BreakerStrategy,
	now time.Time) v1alpha1.RemediationBreakerStatus {
	l := limitsOf(s)
	st = tick(st, l, now)
	s.SetDefaults()
	if s.SLO == nil {
		st.SLO = nil
		return st
	}
	spent, err := Spent(a.Ratio, *s.SLO)
	if a.Err != nil {
		err = a.Err
	}
	record := &v1alpha1.BreakerSLO{SampledTime: *MicroTime(now)}
	st.SLO = record
	if err != nil {
		record.Verdict, record.Message = v1alpha1.SLOUnknown,
			prose.ShortenCharacters(messageSLOUnknown(err), maxSLOMessage)
		return st
	}
	record.Ratio, record.Spent = decimal(a.Ratio), decimal(spent)
	record.Verdict, record.Message = v1alpha1.SLOWithin, messageSpent(spent, s.SLO)
	if spent > maxSpent {
		record.Verdict = v1alpha1.SLOBurning
		if !opensAll(&st) {
			trip(&st, v1alpha1.ReasonSLOBurn, messageBurn(spent, s.SLO), "", l, now)
		}
	}
	return st
}

// SLODue says whether the objective's query must be asked before a write: there is
// an objective, and no answer that still holds, as each does for so long.
func SLODue(st *v1alpha1.RemediationBreakerStatus, s v1alpha1.BreakerStrategy, holds time.Duration,
	now time.Time) bool {
	if s.SLO == nil {
		return false
	}
	if st.SLO == nil {
		return true
	}
	age := now.Sub(st.SLO.SampledTime.Time)
	return age < 0 || age >= holds
}

// SLOGate says whether the objective of a breaker lets new writes begin. Without
// an objective it does; without a fresh answer, or with one that says nothing, it
// doesn't.
func SLOGate(breaker string, st *v1alpha1.RemediationBreakerStatus, s v1alpha1.BreakerStrategy, holds time.Duration,
	now time.Time) Verdict {
	switch {
	case s.SLO == nil:
		return Verdict{Allowed: true}
	case SLODue(st, s, holds, now):
		return Verdict{Reason: v1alpha1.ReasonSLOUnknown,
			Message: messageSLORefused(breaker, "its query hasn't been answered yet.")}
	case st.SLO.Verdict == v1alpha1.SLOWithin:
		return Verdict{Allowed: true, Reason: string(v1alpha1.SLOWithin), Message: st.SLO.Message}
	case st.SLO.Verdict == v1alpha1.SLOBurning:
		return Verdict{Reason: v1alpha1.ReasonSLOBurn, Message: messageSLORefused(breaker, st.SLO.Message)}
	default:
		return Verdict{Reason: v1alpha1.ReasonSLOUnknown, Message: messageSLORefused(breaker, st.SLO.Message)}
	}
}

// decimal writes a number so that reading it back gives the same one.
func decimal(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
