// SPDX-License-Identifier: Apache-2.0

package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego/budget"
	"evenkeel.dev/evenkeel/internal/prose"
)

// maxFix is the most bytes of all actions together.
const maxFix = 2 << 20

// Actions reads the elements of the rule that gives fixes, sorted, each action once.
func (d *Decoder) Actions(rule string, elements []*ast.Term) ([]policy.Action, error) {
	keyed := make([]sortable[policy.Action], 0, len(elements))
	bytes := int64(0)
	for _, element := range elements {
		if bytes += budget.Size(element.Value, maxFix); bytes > maxFix {
			return nil, fmt.Errorf("rule %s: the fix has more than %d bytes", rule, maxFix)
		}
		action, err := d.action(element)
		if err != nil {
			return nil, fmt.Errorf("rule %s, element %s: %w", rule, brief(element), err)
		}
		key, err := actionKey(action)
		if err != nil {
			return nil, fmt.Errorf("rule %s, element %s: %w", rule, brief(element), err)
		}
		keyed = append(keyed, sortable[policy.Action]{key: key, value: action})
	}
	return sorted(keyed), nil
}

func (d *Decoder) action(element *ast.Term) (policy.Action, error) {
	value, err := goValue(element.Value)
	if err != nil {
		return policy.Action{}, err
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return policy.Action{}, fmt.Errorf("it is %s: it must be an object {\"action\": \"patch\", \"ops\": […]}",
			Article(ast.ValueName(element.Value)))
	}
	name, ok := fields["action"].(string)
	if !ok {
		return policy.Action{}, errors.New("action must be a string that names what to do")
	}
	for _, known := range forms() {
		if string(known.action) != name {
			continue
		}
		if unknown := unknownKeys(fields, append([]string{"action"}, known.keys...)...); unknown != "" {
			return policy.Action{}, fmt.Errorf("unknown key %s: %s", unknown, known.form)
		}
		action := policy.Action{Type: known.action}
		return action, known.read(d, fields, &action)
	}
	return policy.Action{},
		fmt.Errorf("unknown action %q: the actions are create, delete, evict, patch, restart and scale%s", name,
			prose.DidYouMean(name, []string{"create", "delete", "evict", "patch", "restart", "scale"}))
}

// op reads one operation of RFC 6902 and moves its paths onto the object.
func (d *Decoder) op(item any) (policy.PatchOp, error) {
	fields, ok := item.(map[string]any)
	if !ok {
		return policy.PatchOp{}, errors.New("it must be an object {op, path, value or from}")
	}
	verb, ok := fields["op"].(string)
	if !ok {
		return policy.PatchOp{}, errors.New("op must be a string")
	}
	allowed, err := opKeys(verb)
	if err != nil {
		return policy.PatchOp{}, err
	}
	if unknown := unknownKeys(fields, allowed...); unknown != "" {
		return policy.PatchOp{}, fmt.Errorf("unknown key %s: %s has %q", unknown, verb, allowed)
	}
	op := policy.PatchOp{Op: verb}
	if op.Path, err = d.opPointer(fields, "path"); err != nil {
		return policy.PatchOp{}, err
	}
	if slices.Contains(allowed, "from") {
		if op.From, err = d.opPointer(fields, "from"); err != nil {
			return policy.PatchOp{}, err
		}
	}
	op.Value, op.HasValue = fields["value"]
	if slices.Contains(allowed, "value") && !op.HasValue {
		return policy.PatchOp{}, fmt.Errorf("%s needs a value", verb)
	}
	return op, nil
}

// opKeys are the members of an operation, all of them required (RFC 6902,
// section 4).
func opKeys(verb string) ([]string, error) {
	switch verb {
	case "add", "replace", "test":
		return []string{"op", "path", "value"}, nil
	case "move", "copy":
		return []string{"op", "path", "from"}, nil
	case "remove":
		return []string{"op", "path"}, nil
	default:
		return nil, fmt.Errorf("unknown op %q: RFC 6902 has add, remove, replace, move, copy and test", verb)
	}
}

func (d *Decoder) opPointer(fields map[string]any, key string) (string, error) {
	path, ok := fields[key].(string)
	if !ok {
		return "", fmt.Errorf("%s must be a string, a JSON Pointer", key)
	}
	moved, err := d.Paths.pointer(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	return moved, nil
}

// actionKey orders actions by their content. It tells a null value from none,
// which the JSON form of an operation doesn't.
func actionKey(action policy.Action) ([]string, error) {
	object, err := json.Marshal(action.Object)
	if err != nil {
		return nil, fmt.Errorf("object: %w", err)
	}
	key := []string{string(action.Type), action.Subresource, string(object), strconv.FormatInt(action.Replicas, 10)}
	for _, op := range action.Ops {
		value, err := json.Marshal(op.Value)
		if err != nil {
			return nil, fmt.Errorf("value of %s %s: %w", op.Op, op.Path, err)
		}
		key = append(key, op.Path, op.Op, op.From, string(value))
	}
	return key, nil
}
