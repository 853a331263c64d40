// SPDX-License-Identifier: Apache-2.0

package action

import (
	"encoding/json"
	"fmt"
	"strings"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/prose"
)

// maxHintBytes bounds a hint, which stands in messages of other bounds.
const maxHintBytes = 400

// Hint says in one line which changes would fix the object. Values are
// left out where they may be secret. A long one is cut, and says how much is left.
func Hint(actions []policy.Action, secret bool) string {
	var steps []string
	for _, a := range actions {
		if a.Type != policy.ActionPatch {
			steps = append(steps, prose.OneLine(Describe([]policy.Action{a}, 1)))
			continue
		}
		for _, op := range a.Ops {
			if step := opText(op, secret); step != "" {
				steps = append(steps, step)
			}
		}
	}
	var b strings.Builder
	for i, step := range steps {
		if left := len(steps) - i; i > 0 && b.Len()+len(step) > maxHintBytes {
			fmt.Fprintf(&b, ", and %d more %s", left, map[bool]string{true: "change", false: "changes"}[left == 1])
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(prose.Shorten(step, maxHintBytes))
	}
	return b.String()
}

func opText(op policy.PatchOp, secret bool) string {
	switch op.Op {
	case "test":
		return ""
	case "remove":
		return "remove " + prose.OneLine(op.Path)
	case "move", "copy":
		return prose.OneLine(fmt.Sprintf("%s %s to %s", op.Op, op.From, op.Path))
	}
	if secret {
		return prose.OneLine("set " + op.Path)
	}
	value, err := json.Marshal(op.Value)
	if err != nil {
		return prose.OneLine("set " + op.Path)
	}
	return prose.OneLine(fmt.Sprintf("set %s to %s", op.Path, value))
}
