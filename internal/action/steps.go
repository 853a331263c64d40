// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// Step is one write. Restart and scale are patches by now.
type Step struct {
	// Type is Patch, Create, Delete or Evict, as in the record of the write.
	Type v1alpha1.ActionType
	// Subresource is where a patch is sent; empty for the object itself.
	Subresource string
	// Ops is the JSON Patch of a patch.
	Ops []policy.PatchOp
	// Object is the manifest of a creation, or of a deletion the one that brings
	// the object back.
	Object map[string]any
}

// Verb is the write as people read it: "delete".
func (s Step) Verb() string { return strings.ToLower(string(s.Type)) }

// maxSteps bounds the writes of one object, the first ones and the last together.
const maxSteps = 8

// Steps orders what the actions come to, and says how the object looks after
// them: nil when it is gone. Patches of the same place become one write. The
// object itself isn't changed. The error says why the object can't take them.
func Steps(obj map[string]any, actions []policy.Action, at time.Time) ([]Step, map[string]any, error) {
	ordered, err := inOrder(actions)
	if err != nil {
		return nil, nil, err
	}
	var steps []Step
	after := obj
	for _, o := range ordered {
		if after == nil || o.definition.Allowed.Removes() && slices.ContainsFunc(steps, func(s Step) bool {
			return s.Type == v1alpha1.ActionPatch
		}) {
			return nil, nil, fmt.Errorf(
				"%s can't be combined with other actions on the same object: it is gone after it", o.action.Type)
		}
		step, err := o.definition.write(after, o.action, at)
		if err != nil {
			return nil, nil, err
		}
		if o.definition.Allowed.Removes() {
			after = nil
		} else if after, err = Apply(after, []policy.Action{{Type: policy.ActionPatch, Ops: step.Ops}}); err != nil {
			return nil, nil, err
		}
		steps = join(steps, step)
	}
	if len(steps) > maxSteps {
		return nil, nil, fmt.Errorf("the fix comes to %d writes for one object: at most %d can be recorded", len(steps),
			maxSteps)
	}
	return steps, after, nil
}

// planned is an action with its definition.
type planned struct {
	action     policy.Action
	definition Definition
}

// rank puts a patch of the status behind those of the object.
func (p planned) rank() int {
	if p.action.Subresource != "" {
		return rankStatus
	}
	return p.definition.rank
}

func inOrder(actions []policy.Action) ([]planned, error) {
	ordered := make([]planned, 0, len(actions))
	for _, a := range actions {
		v, known := DefinitionOf(a.Type)
		if !known {
			return nil, fmt.Errorf("action %q isn't known", a.Type)
		}
		ordered = append(ordered, planned{a, v})
	}
	slices.SortStableFunc(ordered, func(a, b planned) int {
		return a.rank() - b.rank()
	})
	return ordered, nil
}

// join appends a step; a patch of the place that the step before patches becomes
// one with it, and one that does nothing is left out.
func join(steps []Step, s Step) []Step {
	if s.Type == v1alpha1.ActionPatch && len(s.Ops) == 0 {
		return steps
	}
	if last := len(steps) - 1; last >= 0 && s.Type == v1alpha1.ActionPatch && steps[last].Type == s.Type &&
		steps[last].Subresource == s.Subresource {
		steps[last].Ops = slices.Concat(steps[last].Ops, s.Ops)
		return steps
	}
	return append(steps, s)
}
