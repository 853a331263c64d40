// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego/budget"
	"evenkeel.dev/evenkeel/internal/prose"
)

// maxFix is the most bytes of all actions together.
const maxFix = 2 << 20

// actions reads the elements of the rule that gives fixes, sorted, each action once.
func (d *decoder) actions(rule string, elements []*ast.Term) ([]policy.Action, error) {
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

func (d *decoder) action(element *ast.Term) (policy.Action, error) {
	value, err := goValue(element.Value)
	if err != nil {
		return policy.Action{}, err
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return policy.Action{}, fmt.Errorf("it is %s: it must be an object {\"action\": \"patch\", \"ops\": […]}",
			article(ast.ValueName(element.Value)))
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
func (d *decoder) op(item any) (policy.PatchOp, error) {
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

func (d *decoder) opPointer(fields map[string]any, key string) (string, error) {
	path, ok := fields[key].(string)
	if !ok {
		return "", fmt.Errorf("%s must be a string, a JSON Pointer", key)
	}
	moved, err := d.paths.pointer(path)
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

// form is how one action is written in Rego.
type form struct {
	action policy.ActionType
	// keys are the keys besides action; form says so to people.
	keys []string
	form string
	// read checks the fields and puts them into the action.
	read func(*decoder, map[string]any, *policy.Action) error
}

func forms() []form {
	return []form{
		{policy.ActionPatch, []string{"ops", "subresource"}, "a patch has action, ops and perhaps subresource",
			(*decoder).patch},
		{policy.ActionCreate, []string{"object"}, "create has action and object", (*decoder).create},
		{policy.ActionDelete, nil, "delete has action alone: it deletes the judged object", nothingElse},
		{policy.ActionEvict, nil, "evict has action alone: it evicts the judged Pod", nothingElse},
		{policy.ActionRestart, nil, "restart has action alone: it restarts the judged workload", nothingElse},
		{policy.ActionScale, []string{"replicas"}, "scale has action and replicas", (*decoder).scale},
	}
}

func nothingElse(*decoder, map[string]any, *policy.Action) error { return nil }

func (d *decoder) patch(fields map[string]any, action *policy.Action) error {
	if given, ok := fields["subresource"]; ok {
		if given != policy.StatusSubresource {
			return fmt.Errorf(
				"subresource is %v: the only one that may be patched is %q; leave it out for the object itself", given,
				policy.StatusSubresource)
		}
		action.Subresource = policy.StatusSubresource
	}
	list, ok := fields["ops"].([]any)
	if !ok || len(list) == 0 {
		return errors.New("ops must be a list of at least one JSON Patch operation")
	}
	for i, item := range list {
		op, err := d.op(item)
		if err == nil && action.Subresource != "" {
			err = withinStatus(op)
		}
		if err != nil {
			return fmt.Errorf("ops[%d]: %w", i, err)
		}
		action.Ops = append(action.Ops, op)
	}
	return nil
}

// withinStatus holds a patch of the status to it: the API server drops all else
// in silence.
func withinStatus(op policy.PatchOp) error {
	if op.Path != "/status" && !strings.HasPrefix(op.Path, "/status/") {
		return fmt.Errorf(
			"path %q: a patch of the status can change nothing but /status: put it into a patch without subresource",
			op.Path)
	}
	if op.Op == "move" && !strings.HasPrefix(op.From, "/status/") {
		return fmt.Errorf("from %q: a patch of the status can change nothing but /status: use copy", op.From)
	}
	return nil
}

func (d *decoder) create(fields map[string]any, action *policy.Action) error {
	object, ok := fields["object"].(map[string]any)
	if !ok {
		return errors.New("object must be the whole manifest of the object to create")
	}
	metadata, _ := object["metadata"].(map[string]any)
	for _, needed := range []struct {
		key   string
		value any
	}{{"apiVersion", object["apiVersion"]}, {"kind", object["kind"]}, {"metadata.name", metadata["name"]}} {
		if text, isText := needed.value.(string); !isText || text == "" {
			return fmt.Errorf("object: %s is missing: give the whole manifest, with a name that is the same each time",
				needed.key)
		}
	}
	action.Object = object
	return nil
}

func (d *decoder) scale(fields map[string]any, action *policy.Action) error {
	replicas, ok := fields["replicas"].(int64)
	if !ok || replicas < 0 || replicas > math.MaxInt32 {
		return fmt.Errorf("replicas is %v: it must be a whole number from 0", fields["replicas"])
	}
	action.Replicas = replicas
	return nil
}
