// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// Definition is what one action means, whatever the object.
type Definition struct {
	// Type is its name in Rego, and Allowed the one in spec.remediation.allowedActions.
	Type    policy.ActionType
	Allowed v1alpha1.ActionType
	// Needs are the permissions to the judged object's kind that it asks for, besides get.
	Needs []Permission
	// Owned says whether it may be carried out on an object that a controller
	// makes: everything else is the business of the controller's own object.
	Owned bool
	// NoUndo says why it can't be undone; empty when it can.
	NoUndo string
	// Kind is the only kind that it can be carried out on; nil for no such limit.
	Kind *policy.GroupKind
	// Describe is a short text of an action, for messages. Of a patch it names limit operations.
	Describe func(a policy.Action, limit int) string

	// rank orders the writes of one object, lowest first.
	rank int
	// write is what the action comes to on an object at a time. The error says
	// why the object can't take it.
	write func(obj map[string]any, a policy.Action, at time.Time) (Step, error)
}

// On says whether the action can be carried out on objects of a kind.
func (v Definition) On(group, kind string) bool {
	return v.Kind == nil || *v.Kind == policy.GroupKind{Group: group, Kind: kind}
}

// Permission is a verb of RBAC on a kind, or on a subresource of it.
type Permission struct{ Verb, Subresource string }

// The order of writes: what is made is there before an object is changed to use
// it; what is removed goes last.
const (
	rankCreate = iota
	rankPatch
	rankStatus
	rankRemove
)

// Definitions is the table of actions.
func Definitions() []Definition {
	return []Definition{patchDefinition(), createDefinition(), deleteDefinition(), evictDefinition(),
		restartDefinition(), scaleDefinition()}
}

// DefinitionOf finds an action by its name in Rego.
func DefinitionOf(t policy.ActionType) (Definition, bool) {
	for _, v := range Definitions() {
		if v.Type == t {
			return v, true
		}
	}
	return Definition{}, false
}

// Forbidden is the first action that the strategy doesn't allow, and
// what is to be added to allowedActions.
func Forbidden(allowed []v1alpha1.ActionType, actions []policy.Action) (policy.ActionType, v1alpha1.ActionType,
	bool) {
	for _, a := range actions {
		v, known := DefinitionOf(a.Type)
		if !known || !slices.Contains(allowed, v.Allowed) {
			return a.Type, v.Allowed, true
		}
	}
	return "", "", false
}

// ReachOwned says whether all actions may be carried out on an object that a
// controller makes.
func ReachOwned(actions []policy.Action) bool {
	for _, a := range actions {
		if v, known := DefinitionOf(a.Type); !known || !v.Owned {
			return false
		}
	}
	return len(actions) > 0
}

// MayReachOwned says whether any allowed action may be carried out on an object of
// the kind that a controller makes.
func MayReachOwned(allowed []v1alpha1.ActionType, group, kind string) bool {
	return slices.ContainsFunc(Definitions(), func(v Definition) bool {
		return v.Owned && v.On(group, kind) && slices.Contains(allowed, v.Allowed)
	})
}

// Remove says whether the judged object is gone after the actions.
func Remove(actions []policy.Action) bool {
	return slices.ContainsFunc(actions, func(a policy.Action) bool {
		v, known := DefinitionOf(a.Type)
		return known && v.Allowed.Removes()
	})
}

// Describe is a short text of actions, for messages: "replace /spec/x, restart it".
func Describe(actions []policy.Action, limit int) string {
	text := ""
	for i, a := range actions {
		if i > 0 {
			text += ", "
		}
		if v, known := DefinitionOf(a.Type); known {
			text += v.Describe(a, limit)
		} else {
			text += string(a.Type)
		}
	}
	return text
}

// refuse is the error of an object that can't take an action.
func refuse(obj map[string]any, a policy.ActionType, why string) error {
	kind, _ := obj["kind"].(string)
	return fmt.Errorf("%s can't be carried out on a %s: %s", a, kind, why)
}

// NoUndo says why a recorded write can't be undone; empty when it can.
func NoUndo(w v1alpha1.WriteRecord) string {
	if w.Action == v1alpha1.ActionDelete && w.Manifest == nil {
		return "what was deleted isn't recorded"
	}
	for _, v := range Definitions() {
		if v.Allowed == w.Action && v.NoUndo != "" {
			return v.NoUndo
		}
	}
	return ""
}
