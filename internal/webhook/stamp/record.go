// SPDX-License-Identifier: Apache-2.0

package stamp

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// fresh is how old a record may be that admission has just made: it is looked at again
// once other webhooks have answered.
const fresh = 5 * time.Minute

// Change is what admission makes of a write.
type Change struct {
	// Requests is what the annotation is to hold; empty for none.
	Requests string
	// Leftover is a field of spec that goes: the end of what a write ends before it. Empty: none.
	Leftover string
}

// Record is the change that a write needs so that it holds who asks for what. needed is
// false when it does already.
func Record(r *policy.Request) (change Change, needed bool) {
	before, after := specOf(r.OldObject), specOf(r.Object)
	was, is := requestsOf(r.OldObject), requestsOf(r.Object)
	asks, rest := of(r.Resource, before, after), leftover(r.Resource, before, after)
	switch {
	case len(asks) == 0:
		return Change{Requests: was}, was != is
	case rest == "" && recorded(was, is, asks, r):
		return Change{Requests: is}, false
	}
	return Change{Requests: with(was, asks, r.UserInfo.Username, func(int) time.Time { return r.Now }),
		Leftover: rest}, true
}

// Asks says whether a write asks for an action, and for which reason.
func Asks(r *policy.Request, action v1alpha1.RequestAction) (reason string, asks bool) {
	for _, a := range of(r.Resource, specOf(r.OldObject), specOf(r.Object)) {
		if a.action == action {
			return a.reason, true
		}
	}
	return "", false
}

// recorded reports whether a record is the one before plus these requests, in the name of the user who makes them.
func recorded(was, is string, asks []ask, r *policy.Request) bool {
	records := v1alpha1.Requests(&metav1.ObjectMeta{
		Annotations: map[string]string{v1alpha1.AnnotationRequests: is}})
	added := records[max(len(records)-len(asks), 0):]
	at := func(i int) time.Time { return added[i].RequestTime.Time }
	for i := range added {
		if r.Now.Sub(at(i)).Abs() > fresh {
			return false
		}
	}
	return len(added) == len(asks) && is == with(was, asks, r.UserInfo.Username, at)
}

// with is a record to which a user adds what they ask for, each at its time. A line is kept as it is, also one that
// can't be read.
func with(was string, asks []ask, user string, at func(i int) time.Time) string {
	var lines []string
	if was != "" {
		lines = strings.Split(was, "\n")
	}
	for i, a := range asks {
		record := v1alpha1.RequestRecord{User: user, Action: a.action, RequestTime: metav1.NewTime(at(i)),
			Reason: a.reason, Token: a.token}
		if end, err := time.Parse(time.RFC3339, a.until); err == nil {
			record.UntilTime = &metav1.Time{Time: end}
		}
		lines = append(lines, record.Line())
	}
	return strings.Join(lines[max(len(lines)-v1alpha1.MaxRequests, 0):], "\n")
}

// ask is one thing that a write asks for.
type ask struct {
	action v1alpha1.RequestAction
	token  string
	reason string
	// until is when it ends by itself, as the write says it; empty for no end.
	until string
}

func of(resource string, before, after map[string]any) []ask {
	var asks []ask
	switch resource {
	case "remediationbreakers":
		asks = slices.Concat(ofMode(before, after), ofToken("resetToken", v1alpha1.ActionReset, before, after))
	case "policyoverrides":
		asks = ofOverride(before, after)
	case "remediations":
		asks = slices.Concat(ofState(before, after), ofToken("retryToken", v1alpha1.ActionRetry, before, after),
			ofWindows(before, after))
	}
	for i := range asks {
		asks[i].reason = text(after, "reason")
	}
	if resource == "remediations" {
		asks = append(asks, ofApproval(before, after)...)
	}
	return asks
}

// ofApproval: the comment of an answer is its reason.
func ofApproval(before, after map[string]any) []ask {
	answer, _ := after["approval"].(map[string]any)
	if answer == nil || reflect.DeepEqual(before["approval"], after["approval"]) {
		return nil
	}
	var given v1alpha1.PlanApproval
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(answer, &given) // the API server has checked the types
	return []ask{{action: v1alpha1.RequestAction(given.Decision), reason: given.Comment, token: given.Token()}}
}

// ofOverride: whatever changes how a policy is overridden, or until when, is asked for by
// somebody.
func ofOverride(before, after map[string]any) []ask {
	same := true
	for _, field := range []string{"policyUID", "admissionAction", "expirationTime"} {
		same = same && reflect.DeepEqual(before[field], after[field])
	}
	if same {
		return nil
	}
	return []ask{{action: v1alpha1.ActionOverride}}
}

func ofMode(before, after map[string]any) []ask {
	was, is := forcedOpen(before), forcedOpen(after)
	switch {
	case is && (!was || text(before, heldUntil) != text(after, heldUntil)):
		return []ask{{action: v1alpha1.ActionForceOpen, until: text(after, heldUntil)}}
	case was && !is:
		return []ask{{action: v1alpha1.ActionRelease}}
	}
	return nil
}

func ofState(before, after map[string]any) []ask {
	was, is := desired(before), desired(after)
	if is == v1alpha1.StatePaused && (was != is || text(before, pausedUntil) != text(after, pausedUntil)) {
		return []ask{{action: v1alpha1.ActionPause, until: text(after, pausedUntil)}}
	}
	if was == is {
		return nil
	}
	actions := map[v1alpha1.DesiredState]v1alpha1.RequestAction{v1alpha1.StateRunning: v1alpha1.ActionResume,
		v1alpha1.StateAborted: v1alpha1.ActionAbort, v1alpha1.StateUndone: v1alpha1.ActionUndo}
	return []ask{{action: actions[is]}}
}

func desired(spec map[string]any) v1alpha1.DesiredState {
	return cmp.Or(v1alpha1.DesiredState(text(spec, "desiredState")), v1alpha1.StateRunning)
}

func forcedOpen(spec map[string]any) bool {
	s := v1alpha1.RemediationBreakerSpec{Mode: v1alpha1.BreakerMode(text(spec, "mode"))}
	return s.AsksOpen()
}

func ofToken(field string, action v1alpha1.RequestAction, before, after map[string]any) []ask {
	if token := text(after, field); token != "" && token != text(before, field) {
		return []ask{{action: action, token: token}}
	}
	return nil
}

func ofWindows(before, after map[string]any) []ask {
	ignored := func(spec map[string]any) bool { return text(spec, "windows") == string(v1alpha1.WindowsIgnore) }
	switch {
	case ignored(before) == ignored(after):
		return nil
	case ignored(after):
		return []ask{{action: v1alpha1.ActionOverrideWindows}}
	}
	return []ask{{action: v1alpha1.ActionRespectWindows}}
}

func specOf(object map[string]any) map[string]any {
	spec, _ := object["spec"].(map[string]any)
	return spec
}

func requestsOf(object map[string]any) string {
	return marks(object, "annotations")[v1alpha1.AnnotationRequests]
}

func text(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}
