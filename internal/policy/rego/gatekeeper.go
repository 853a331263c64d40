// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/types"
)

// Gatekeepers says that the policy was written for Gatekeeper, whose rules judge as they do there: what violation gives
// is read as Gatekeeper reads it, and input.review is Gatekeeper's. The migration marks them, and what a built-in
// function that fails leads to is marked by the same field.
func (c *Compiled) Gatekeepers() bool { return !c.definition.Spec.Rego.Strict() }

// TakenByGatekeeper says that Gatekeeper's compiler takes the rule violation: by the type of its elements, one of them
// may be an object with a msg. Of another rule Gatekeeper's ConstraintTemplate doesn't compile.
func (c *Compiled) TakenByGatekeeper() bool { return c.taken }

// takenByGatekeeper tells that by the type of the rule, of which Gatekeeper asks rule[r], and then r.msg.
func takenByGatekeeper(rule types.Type) bool { return rule != nil && hasMessage(types.Keys(rule)) }

func hasMessage(element types.Type) bool {
	switch t := element.(type) {
	case *types.NamedType:
		return hasMessage(t.Type)
	case types.Any:
		return len(t) == 0 || slices.ContainsFunc(t, hasMessage)
	case nil, *types.Set, *types.Array:
		return false
	default:
		return types.Select(t, "msg") != nil
	}
}
