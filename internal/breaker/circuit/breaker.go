// SPDX-License-Identifier: Apache-2.0

package circuit

import (
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

const (
	// successesToClose is how many plans must succeed in full, one after the
	// other, before a half-open breaker closes.
	successesToClose = 2
)

// EventType is what happened to a target or to a plan.
type EventType string

const (
	// TargetSucceeded: a write to a target was verified.
	TargetSucceeded EventType = "TargetSucceeded"
	// TargetFailed: a target's verification failed, its write was rolled back, or
	// an admission webhook denied it. A conflict, an opt-out or a throttled call
	// is no failure and no event.
	TargetFailed EventType = "TargetFailed"
	// CanaryFailed stands in the place of TargetFailed for a target of the
	// canary. It opens a closed breaker at once.
	CanaryFailed EventType = "CanaryFailed"
	// PlanSucceeded: a plan that wrote at least one target ended well. It matters
	// while half-open only, from the plan that holds the permit.
	PlanSucceeded EventType = "PlanSucceeded"
	// PlanFailed: a plan was rolled back. It matters while half-open only; its
	// targets have been counted one by one.
	PlanFailed EventType = "PlanFailed"
)

// Event is one outcome to record in a breaker.
type Event struct {
	Type EventType
	// Key is unique to the outcome (its plan, target and attempt, say): the
	// latest 64 keys are remembered, and an outcome with one of these isn't
	// counted again. An empty key is always counted.
	Key string
	// Remediation is the name of the plan, Policy that of its policy.
	Remediation, Policy string
	// Namespaces are those in which it happened; none stands for cluster scope.
	Namespaces []string

	// shared says that the breaker stands for several policies, global that it
	// stands for several namespaces too.
	shared, global bool
}

func (e Event) failed() bool {
	return e.Type == TargetFailed || e.Type == CanaryFailed || e.Type == PlanFailed
}

// Next is the status after e at now. It lets the time pass first, as Tick does.
//
// Closed: opens on a canary failure, on consecutiveFailures in a row, and when
// failures reach failurePercent percent of at least minSamples in the window.
// Half-open: any failure opens it again (see probeFailed for those of one namespace);
// two plans that succeed, each under the permit, close it and start it afresh. Open:
// outcomes of writes under way are counted, and only time moves the state.
//
// A policy's breaker that opens for what happened in one namespace alone keeps back that
// namespace (OnlyNamespace), until a failure elsewhere opens it for all.
func Next(st v1alpha1.RemediationBreakerStatus, e Event, s v1alpha1.BreakerStrategy,
	now time.Time) v1alpha1.RemediationBreakerStatus {
	l := limitsOf(s)
	st = tick(st, l, now)
	if !remember(&st, e.Key) {
		return st
	}
	count(&st, e.Type, l, now)
	blame(&st, e, now)
	blameNamespaces(&st, e, now)
	switch st.State {
	case v1alpha1.BreakerClosed:
		if reason, why := tripped(&st, e, l, now); reason != "" {
			trip(&st, reason, why, blamed(&st, e, reason, l, now), l, now)
		}
	case v1alpha1.BreakerHalfOpen:
		probe(&st, e, l, now)
	case v1alpha1.BreakerOpen:
		widen(&st, e, l, now)
	}
	forgive(&st, l, now) // as the next look would, so that looking again changes nothing
	forgiveNamespaces(&st, l, now)
	return st
}

// Tick is the status that time alone makes of st at now: the window moves on, an
// open breaker turns half-open at nextProbeTime, and a permit that lapsed is free
// again. A status that can't be right becomes open. Doing it
// twice at one time changes nothing.
func Tick(st v1alpha1.RemediationBreakerStatus, s v1alpha1.BreakerStrategy,
	now time.Time) v1alpha1.RemediationBreakerStatus {
	return tick(st, limitsOf(s), now)
}

// Open is the status with the breaker opened for a reason from outside its own
// window: reason is CamelCase, message says why in a sentence; when it opens
// again and what to do is added. A breaker that is open for all already stays as it
// is, so it can be called at each pass.
func Open(st v1alpha1.RemediationBreakerStatus, reason, message string, s v1alpha1.BreakerStrategy,
	now time.Time) v1alpha1.RemediationBreakerStatus {
	l := limitsOf(s)
	st = tick(st, l, now)
	if !opensAll(&st) {
		trip(&st, reason, message, "", l, now)
	}
	return st
}

func tick(in v1alpha1.RemediationBreakerStatus, l limits, now time.Time) v1alpha1.RemediationBreakerStatus {
	st := *in.DeepCopy()
	if isNew(&st) {
		closed(&st, v1alpha1.ReasonWithinLimits, messageWithinLimits)
		return st
	}
	ahead := clampFuture(&st, now)
	why := inconsistency(&st)
	if why != "" {
		repair(&st)
	}
	setWindow(&st, roll(st.Buckets, l, now))
	forgive(&st, l, now)
	forgiveNamespaces(&st, l, now)
	if why != "" {
		trip(&st, v1alpha1.ReasonInconsistentState, why, "", l, now)
		return st
	}
	if ahead {
		st.Reason, st.Message = v1alpha1.ReasonClockWentBack,
			messageOpen(messageAhead, st.OnlyNamespace, st.NextProbeTime.Time)
	}
	elapse(&st, now)
	return st
}

// elapse moves the state of a consistent status by time alone.
func elapse(st *v1alpha1.RemediationBreakerStatus, now time.Time) {
	switch st.State {
	case v1alpha1.BreakerClosed:
	case v1alpha1.BreakerOpen:
		if !now.Before(st.NextProbeTime.Time) {
			halfOpen(st)
		}
	case v1alpha1.BreakerHalfOpen:
		if st.Permit != nil {
			if !now.Before(st.Permit.ExpirationTime.Time) {
				lapse(st)
			}
			return
		}
		if now.Before(st.NextProbeTime.Time) {
			// The clock went back: the promise of the opening still stands.
			st.State = v1alpha1.BreakerOpen
			st.Reason, st.Message = v1alpha1.ReasonClockWentBack,
				messageOpen(messageClockWentBack, st.OnlyNamespace, st.NextProbeTime.Time)
		}
	}
}

// lapse takes back the permit of a plan that didn't end in time. That says nothing
// against the fix: it is no opening, and the next plan that writes takes it.
func lapse(st *v1alpha1.RemediationBreakerStatus) {
	message := messageLapsed(st.Permit) + " " + messageProbing(st.HalfOpenSuccesses)
	st.Permit = nil
	st.Reason, st.Message = v1alpha1.ReasonPermitLapsed, message
}

// tripped gives the reason why a closed breaker opens after e, or nothing.
func tripped(st *v1alpha1.RemediationBreakerStatus, e Event, l limits, now time.Time) (reason, why string) {
	switch {
	case e.Type == CanaryFailed:
		return v1alpha1.ReasonCanaryFailed, messageCanary(e)
	case e.Type == TargetFailed && st.ConsecutiveFailures >= l.consecutive && enoughInRow(st, e):
		return v1alpha1.ReasonConsecutiveFailures, messageConsecutive(st.ConsecutiveFailures, l)
	case e.Type != TargetFailed && e.Type != TargetSucceeded:
		return "", ""
	case !enoughInWindow(st, e, l, now):
		return "", ""
	case st.Outcomes >= l.minSamples && int64(st.Failures)*100 >= int64(l.ratio)*int64(st.Outcomes):
		return v1alpha1.ReasonFailurePercent, messageRatio(st, l)
	}
	return "", ""
}

// probe is what e means to a half-open breaker.
func probe(st *v1alpha1.RemediationBreakerStatus, e Event, l limits, now time.Time) {
	if e.failed() {
		probeFailed(st, e, l, now)
		return
	}
	if e.Type != PlanSucceeded || st.Permit == nil || st.Permit.Remediation != e.Remediation {
		return
	}
	st.Permit = nil
	st.HalfOpenSuccesses++
	if st.HalfOpenSuccesses < successesToClose {
		st.Reason, st.Message = v1alpha1.ReasonProbing, messageProbing(st.HalfOpenSuccesses)
		return
	}
	closed(st, v1alpha1.ReasonRecovered, messageRecovered)
	// What was counted before is dealt with: one new failure must not add to it.
	st.ConsecutiveFailures, st.Openings, st.FailingPolicies, st.FailingNamespaces = 0, 0, nil, nil
	setWindow(st, nil)
}

// trip opens the breaker, for one namespace or (only is empty) for all; each opening
// doubles the cooldown. An earlier promise to stay open for longer is kept. What one
// namespace has made of the count of openings and of the promise binds no other, and
// its openings demote nobody.
func trip(st *v1alpha1.RemediationBreakerStatus, reason, why, only string, l limits, now time.Time) {
	if st.OnlyNamespace != "" && only != st.OnlyNamespace {
		st.Openings, st.NextProbeTime = int32(len(recent(st.RecentOpeningTimes, now))), nil //nolint:gosec // at most three.
	}
	st.Openings = add(st.Openings, 1)
	next := now.Add(l.openFor(st.Openings))
	if st.NextProbeTime != nil && st.NextProbeTime.After(next) {
		next = st.NextProbeTime.Time
	}
	st.State, st.OnlyNamespace = v1alpha1.BreakerOpen, only
	st.OpenedTime, st.NextProbeTime = MicroTime(now), MicroTime(next)
	if only == "" {
		st.RecentOpeningTimes = recent(append(slices.Clone(st.RecentOpeningTimes), *st.OpenedTime), now)
	}
	st.Permit, st.HalfOpenSuccesses = nil, 0
	st.Reason, st.Message = prose.ShortenCharacters(reason, maxReason), messageOpen(why, only, next)
}

func halfOpen(st *v1alpha1.RemediationBreakerStatus) {
	st.State = v1alpha1.BreakerHalfOpen
	st.Permit, st.HalfOpenSuccesses = nil, 0
	st.FailingNamespaces = slices.Clone(st.FailingNamespaces)
	for i := range st.FailingNamespaces {
		st.FailingNamespaces[i].InRow = false // from now on: where a probe has failed
	}
	st.Reason, st.Message = v1alpha1.ReasonProbing, messageProbing(0)
}

// closed keeps openedTime, for people to read.
func closed(st *v1alpha1.RemediationBreakerStatus, reason, message string) {
	st.State = v1alpha1.BreakerClosed
	st.NextProbeTime, st.Permit, st.HalfOpenSuccesses, st.OnlyNamespace = nil, nil, 0, ""
	st.Reason, st.Message = reason, message
}

// MicroTime rounds to what the API keeps, so that a status read back is equal.
func MicroTime(t time.Time) *metav1.MicroTime {
	m := metav1.NewMicroTime(t.UTC().Truncate(time.Microsecond))
	return &m
}

// add saturates: a counter that wrapped would forget every failure.
func add(a, b int32) int32 {
	return int32(min(int64(a)+int64(b), math.MaxInt32)) //nolint:gosec // bounded by min.
}
