// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

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
	// ActionApprove approves a plan.
	ActionApprove RequestAction = RequestAction(DecisionApprove)
	// ActionReject rejects a plan.
	ActionReject RequestAction = RequestAction(DecisionReject)
	// ActionUnreadable stands for a line of the record that isn't admission's.
	ActionUnreadable RequestAction = "Unreadable"
)

// RequestRecord is one request of a person, as admission has seen it: a line of AnnotationRequests.
// +kubebuilder:object:generate=false
type RequestRecord struct {
	// user is who asked, as the API server has authenticated them. It comes first in a line:
	// config/rbac/requests_policy.yaml goes by that.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	User string `json:"user"`
	// action is what was asked for.
	// +required
	Action RequestAction `json:"action"`
	// requestTime is when they asked.
	// +required
	RequestTime metav1.Time `json:"requestTime"`
	// reason is what they gave as the reason, or as the comment of an answer.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`
	// token is the token of a reset or a retry; of an answer after the first wave, "wave N".
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Token string `json:"token,omitempty"`
	// untilTime is when what was asked for ends by itself; absent for what has no end.
	// +optional
	UntilTime *metav1.Time `json:"untilTime,omitempty"`
}

// Requests are the latest requests that people have made of an object, the oldest first, by AnnotationRequests. A line
// that isn't admission's counts as a request that admission didn't see.
func Requests(obj metav1.Object) []RequestRecord {
	text := obj.GetAnnotations()[AnnotationRequests]
	if text == "" {
		return nil
	}
	var out []RequestRecord
	for line := range strings.Lines(text) {
		var r RequestRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil || !r.holds() {
			r = RequestRecord{User: UnknownUser, Action: ActionUnreadable,
				Reason: "the annotation " + AnnotationRequests + " has a line that can't be read"}
		}
		out = append(out, r)
	}
	return out[max(len(out)-MaxRequests, 0):]
}

// The longest user name and the longest reason, in bytes, that a record holds.
const (
	maxRequestUser   = 1024
	maxRequestReason = 4096
)

// holds says whether the record keeps to its bounds, as all do that admission writes.
func (r *RequestRecord) holds() bool {
	return r.User != "" && len(r.User) <= maxRequestUser && r.Action != "" && len(r.Reason) <= maxRequestReason
}

// Line is the record as AnnotationRequests has it, without the line's end.
func (r *RequestRecord) Line() string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(r) // strings and times can always be marshalled
	return strings.TrimSpace(b.String())
}

// UnknownUser stands for the user who asked when admission didn't see the request.
const UnknownUser = "unknown: admission was bypassed"

// LatestRequest is the latest of the requests, if it is one of the given actions;
// nil if a later one changed the same thing, or can't be read. of are the actions that change
// the same thing.
func LatestRequest(requests []RequestRecord, want RequestAction, of ...RequestAction) *RequestRecord {
	for i := len(requests) - 1; i >= 0; i-- {
		switch r := &requests[i]; {
		case r.Action == want:
			return r
		case r.Action == ActionUnreadable, slices.Contains(of, r.Action):
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
