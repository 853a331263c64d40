// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxRequests is how many requests of people a plan, a breaker or an override remembers.
const MaxRequests = 10

// OlderRequests says where MaxRequests are remembered that there may have been others.
const OlderRequests = "only the latest 10 are kept; earlier ones, if there were any, are in the API server's audit " +
	"log, where it has one"

// RequestAction is what a person asks of a plan, of a breaker or of a policy.
// +kubebuilder:validation:MaxLength=64
type RequestAction string

const (
	// ActionForceOpen holds a breaker open.
	ActionForceOpen RequestAction = "ForceOpen"
	// ActionRelease releases a breaker that was held open.
	ActionRelease RequestAction = "Release"
	// ActionReset closes a breaker and lets it start afresh.
	ActionReset RequestAction = "Reset"
	// ActionPause lets no new write of a plan begin.
	ActionPause RequestAction = "Pause"
	// ActionResume lets a paused plan go on.
	ActionResume RequestAction = "Resume"
	// ActionAbort undoes the current wave and ends the plan.
	ActionAbort RequestAction = "Abort"
	// ActionUndo undoes all that the plan has written.
	ActionUndo RequestAction = "Undo"
	// ActionRetry has a wave that is held by a failure verified once more.
	ActionRetry RequestAction = "Retry"
	// ActionOverride has a policy enforced otherwise than it declares, until a set time.
	ActionOverride RequestAction = "Override"
	// ActionOverrideWindows lets a plan write while its windows are closed or a freeze lasts.
	ActionOverrideWindows RequestAction = "OverrideWindows"
	// ActionRespectWindows takes that back.
	ActionRespectWindows RequestAction = "RespectWindows"
)

// RequestRecord is one thing that a person has asked for, as admission has seen it.
type RequestRecord struct {
	// action is what was asked for.
	// +required
	Action RequestAction `json:"action"`
	// user is who asked, as the API server has authenticated them.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	User string `json:"user"`
	// requestTime is when they asked.
	// +required
	RequestTime metav1.Time `json:"requestTime"`
	// reason is what they gave as the reason.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason,omitempty"`
	// token is the token of a reset or a retry.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Token string `json:"token,omitempty"`
	// untilTime is when what was asked for ends by itself; absent for what has no end.
	// +optional
	UntilTime *metav1.Time `json:"untilTime,omitempty"`
}

// UnknownUser stands for the user who asked when admission didn't see the request.
const UnknownUser = "unknown: admission was bypassed"

// LatestRequest is the latest of the requests, if it is one of the given actions;
// any other that came later speaks of another state. of are the actions that change
// the same thing.
func LatestRequest(requests []RequestRecord, want RequestAction, of ...RequestAction) *RequestRecord {
	for i := len(requests) - 1; i >= 0; i-- {
		switch r := &requests[i]; {
		case r.Action == want:
			return r
		case slices.Contains(of, r.Action):
			return nil
		}
	}
	return nil
}

// TokenRequest is the request that set a token; nil when admission didn't see it.
func TokenRequest(requests []RequestRecord, action RequestAction, token string) *RequestRecord {
	for i := len(requests) - 1; i >= 0; i-- {
		if requests[i].Action == action && requests[i].Token == token {
			return &requests[i]
		}
	}
	return nil
}

// What says what was asked for, and until when: "Pause until 2027-01-07T08:00:00Z".
func (r *RequestRecord) What() string { return string(r.Action) + UntilText(r.UntilTime) }

// String says who asked, and why.
func (r *RequestRecord) String() string {
	switch {
	case r == nil:
		return UnknownUser
	case r.Reason == "":
		return r.User
	}
	return r.User + ": " + r.Reason
}
