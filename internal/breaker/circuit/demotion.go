// SPDX-License-Identifier: Apache-2.0

package circuit

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

const (
	// openingsToDemote is how many openings within demotionWindow demote a policy.
	openingsToDemote = 3
	// demotionWindow is the time within which openings are counted for a demotion.
	demotionWindow = 24 * time.Hour
)

// Demotion is the status of a policy's breaker with its demotion as it must be at
// now: begun when the breaker has opened three times within 24 hours, ended when
// another revision than the one demoted is in force. revision is the one in force;
// empty when it isn't known, which ends nothing. Only a policy can be demoted:
// other scopes' breakers aren't to be given.
func Demotion(st v1alpha1.RemediationBreakerStatus, revision string, now time.Time) v1alpha1.RemediationBreakerStatus {
	out := *st.DeepCopy()
	switch {
	case out.Demoted == nil:
		out.RecentOpeningTimes = recent(out.RecentOpeningTimes, now)
		if len(out.RecentOpeningTimes) >= openingsToDemote {
			out.Demoted = &v1alpha1.BreakerDemotion{
				StartTime: *MicroTime(now), Revision: revision, Message: messageDemoted(out.Reason)}
		}
	case revision == "" || revision == out.Demoted.Revision:
	case out.Demoted.Revision == "":
		out.Demoted.Revision = revision
	default:
		// The openings spoke of the revision that is gone.
		out.Demoted, out.RecentOpeningTimes = nil, nil
	}
	return out
}

// recent are the openings that count for a demotion: the latest three within 24
// hours. Those of a future that a clock gone back has made are real, and count.
func recent(openings []metav1.MicroTime, now time.Time) []metav1.MicroTime {
	var kept []metav1.MicroTime
	for _, at := range openings {
		if now.Sub(at.Time) < demotionWindow {
			kept = append(kept, at)
		}
	}
	slices.SortFunc(kept, func(a, b metav1.MicroTime) int { return a.Compare(b.Time) })
	return kept[max(len(kept)-openingsToDemote, 0):]
}

// Reset is the status of a breaker that a person starts afresh: closed, nothing
// counted, no opening remembered, no demotion, and the number of violations as it
// is next counted taken as given. Outcomes that were counted before stay
// remembered, so that none of them counts again.
//
// ok is false, and the status as it was, when there is no reset to carry out: none
// is asked for, or it was carried out before.
func Reset(cb *v1alpha1.RemediationBreaker, now time.Time) (st v1alpha1.RemediationBreakerStatus, ok bool) {
	token := cb.Spec.ResetToken
	if token == "" || token == cb.Status.LastHandledResetToken {
		return *cb.Status.DeepCopy(), false
	}
	by, reason := v1alpha1.UnknownUser, "none was recorded"
	if asked := v1alpha1.TokenRequest(v1alpha1.Requests(cb), v1alpha1.ActionReset, token); asked != nil {
		by, reason = asked.User, asked.Reason
	}
	out := v1alpha1.RemediationBreakerStatus{ObservedGeneration: cb.Status.ObservedGeneration,
		OpenedTime: cb.Status.OpenedTime, LastOutcomeTime: cb.Status.LastOutcomeTime,
		Recorded: cb.Status.Recorded, Mode: cb.Status.Mode, Conditions: cb.Status.Conditions,
		LastHandledResetToken: token,
		LastReset:             &v1alpha1.BreakerResetRecord{By: by, ResetTime: *MicroTime(now), Reason: reason}}
	closed(&out, v1alpha1.ReasonReset, messageReset(out.LastReset))
	return *out.DeepCopy(), true
}

// Forgotten is the status of a breaker whose policy or namespace is gone: closed, so
// that it can be deleted.
func Forgotten(cb *v1alpha1.RemediationBreaker) v1alpha1.RemediationBreakerStatus {
	out := v1alpha1.RemediationBreakerStatus{ObservedGeneration: cb.Status.ObservedGeneration,
		Recorded: cb.Status.Recorded, Mode: cb.Status.Mode, Conditions: cb.Status.Conditions,
		LastHandledResetToken: cb.Status.LastHandledResetToken, LastReset: cb.Status.LastReset}
	closed(&out, v1alpha1.ReasonForgotten, messageForgotten)
	return *out.DeepCopy()
}

// outlives is for how long a breaker that isn't closed outlives its policy.
const outlives = 7 * 24 * time.Hour

// Outlived says whether a breaker whose policy is gone has been kept for long enough.
func Outlived(cb *v1alpha1.RemediationBreaker, now time.Time) bool {
	since := cb.CreationTimestamp.Time
	if at := cb.Status.OpenedTime; at != nil && at.After(since) {
		since = at.Time
	}
	return now.Sub(since) >= outlives
}

// AtRest says whether deleting a breaker loses nothing that stops writes: nobody
// holds it open, it is closed, and its policy isn't demoted. A hold that has ended by
// itself counts until its controller has seen so: the API server refuses the deletion before.
func AtRest(cb *v1alpha1.RemediationBreaker, now time.Time) bool {
	state := cb.Status.State
	return letGo(cb, now) && cb.Status.Demoted == nil && (state == "" || state == v1alpha1.BreakerClosed)
}

func letGo(cb *v1alpha1.RemediationBreaker, now time.Time) bool {
	seen := cb.Status.Mode == v1alpha1.BreakerAutomatic && cb.Status.ObservedGeneration == cb.Generation
	return !cb.Spec.AsksOpen() || seen && !cb.Spec.ForcedOpen(now)
}

// Idle says whether a breaker has nothing to remember: it is closed, nobody holds
// it open, and no outcome was counted for a day since it was made.
func Idle(cb *v1alpha1.RemediationBreaker, now time.Time) bool {
	since := cb.CreationTimestamp.Time
	for _, at := range []*metav1.MicroTime{cb.Status.LastOutcomeTime, cb.Status.OpenedTime} {
		if at != nil && at.After(since) {
			since = at.Time
		}
	}
	return cb.Status.State == v1alpha1.BreakerClosed && !cb.Spec.ForcedOpen(now) && now.Sub(since) >= demotionWindow
}

// Due is how long after now time alone changes a status that Tick has just made;
// zero when it doesn't.
func Due(st *v1alpha1.RemediationBreakerStatus, s v1alpha1.BreakerStrategy, now time.Time) time.Duration {
	var next time.Time
	at := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	if st.State == v1alpha1.BreakerOpen && st.NextProbeTime != nil {
		at(st.NextProbeTime.Time)
	}
	if st.Permit != nil {
		at(st.Permit.ExpirationTime.Time)
	}
	if len(st.Buckets) > 0 {
		at(st.Buckets[0].StartTime.Add(v1alpha1.MaxBreakerBuckets * limitsOf(s).width()))
	}
	if next.IsZero() {
		return 0
	}
	return next.Sub(now)
}
