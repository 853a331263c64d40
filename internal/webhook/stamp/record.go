// SPDX-License-Identifier: Apache-2.0

package stamp

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// fresh is how old a record may be that admission has just made: it is looked at again
// once other webhooks have answered.
const fresh = 5 * time.Minute

// Change is what admission makes of the spec of a write.
type Change struct {
	// Requests is what spec.requests is to hold; empty for none.
	Requests []any
	// Moved says that spec.reason is in the record now, and goes from the spec.
	Moved bool
	// Leftover is a field of spec that goes: the end of what a write ends before it. Empty: none.
	Leftover string
}

// Record is the change that a write needs so that it holds who asks for what. needed is
// false when it does already.
func Record(r *policy.Request) (change Change, needed bool) {
	before, after := specOf(r.OldObject), specOf(r.Object)
	was, is := listOf(before), listOf(after)
	asks := of(r.Resource, before, after)
	reason, given := text(after, "reason"), text(after, "reason") != "" &&
		text(after, "reason") != text(before, "reason")
	switch {
	case len(asks) == 0 && r.Resource == "policyoverrides" && text(after, "reason") != "":
		return Change{Requests: was, Moved: true}, true // applied once more: it is in the record
	case len(asks) == 0:
		return Change{Requests: was}, !reflect.DeepEqual(was, is)
	case !given && leftover(r.Resource, before, after) == "" && recorded(was, is, asks, r):
		return Change{Requests: is}, false
	}
	if !given {
		reason = ""
	}
	for _, a := range asks {
		was = append(was, a.record(r.UserInfo.Username, reason, r.Now))
	}
	return Change{Requests: latest(was), Moved: given, Leftover: leftover(r.Resource, before, after)}, true
}

// Asks says whether a write asks for an action, and the reason that its record holds.
func Asks(r *policy.Request, action v1alpha1.RequestAction) (reason string, asks bool) {
	if !slices.ContainsFunc(of(r.Resource, specOf(r.OldObject), specOf(r.Object)), func(a ask) bool {
		return a.action == action
	}) {
		return "", false
	}
	for _, entry := range slices.Backward(listOf(specOf(r.Object))) {
		if m, _ := entry.(map[string]any); text(m, "action") == string(action) {
			return text(m, "reason"), true
		}
	}
	return "", true
}

// recorded says whether a list is the one before with the records of what is asked for,
// in the name of whoever asks.
func recorded(was, is []any, asks []ask, r *policy.Request) bool {
	if len(is) < len(asks) {
		return false
	}
	kept, added := is[:len(is)-len(asks)], is[len(is)-len(asks):]
	for i, a := range asks {
		entry, _ := added[i].(map[string]any)
		at, err := time.Parse(time.RFC3339, text(entry, "requestTime"))
		if err != nil || r.Now.Sub(at).Abs() > fresh ||
			!reflect.DeepEqual(entry, a.record(r.UserInfo.Username, text(entry, "reason"), at)) {
			return false
		}
	}
	return reflect.DeepEqual(latest(append(slices.Clone(was), added...)), append(slices.Clone(kept), added...))
}

func latest(list []any) []any { return list[max(len(list)-v1alpha1.MaxRequests, 0):] }

// ask is one thing that a write asks for.
type ask struct {
	action v1alpha1.RequestAction
	token  string
	// until is when it ends by itself, as the write says it; empty for no end.
	until string
}

func (a ask) record(user, reason string, at time.Time) map[string]any {
	entry := map[string]any{"action": string(a.action), "user": user, "requestTime": at.UTC().Format(time.RFC3339)}
	if reason != "" {
		entry["reason"] = reason
	}
	if a.token != "" {
		entry["token"] = a.token
	}
	if a.until != "" {
		entry["untilTime"] = a.until
	}
	return entry
}

func of(resource string, before, after map[string]any) []ask {
	switch resource {
	case "remediationbreakers":
		return append(ofMode(before, after), ofToken("resetToken", v1alpha1.ActionReset, before, after)...)
	case "policyoverrides":
		return ofOverride(before, after)
	case "remediations":
		return slices.Concat(ofState(before, after), ofToken("retryToken", v1alpha1.ActionRetry, before, after),
			ofWindows(before, after))
	}
	return nil
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

func listOf(spec map[string]any) []any {
	list, _ := spec["requests"].([]any)
	return slices.Clone(list)
}

func text(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}
