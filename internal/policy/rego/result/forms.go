// SPDX-License-Identifier: Apache-2.0

package result

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"evenkeel.dev/evenkeel/internal/policy"
)

// form is how one action is written in Rego.
type form struct {
	action policy.ActionType
	// keys are the keys besides action; form says so to people.
	keys []string
	form string
	// read checks the fields and puts them into the action.
	read func(*Decoder, map[string]any, *policy.Action) error
}

func forms() []form {
	return []form{
		{policy.ActionPatch, []string{"ops", "subresource"}, "a patch has action, ops and perhaps subresource",
			(*Decoder).patch},
		{policy.ActionCreate, []string{"object"}, "create has action and object", (*Decoder).create},
		{policy.ActionDelete, nil, "delete has action alone: it deletes the judged object", nothingElse},
		{policy.ActionEvict, nil, "evict has action alone: it evicts the judged Pod", nothingElse},
		{policy.ActionRestart, nil, "restart has action alone: it restarts the judged workload", nothingElse},
		{policy.ActionScale, []string{"replicas"}, "scale has action and replicas", (*Decoder).scale},
	}
}

func nothingElse(*Decoder, map[string]any, *policy.Action) error { return nil }

func (d *Decoder) patch(fields map[string]any, action *policy.Action) error {
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

func (d *Decoder) create(fields map[string]any, action *policy.Action) error {
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

func (d *Decoder) scale(fields map[string]any, action *policy.Action) error {
	replicas, ok := fields["replicas"].(int64)
	if !ok || replicas < 0 || replicas > math.MaxInt32 {
		return fmt.Errorf("replicas is %v: it must be a whole number from 0", fields["replicas"])
	}
	action.Replicas = replicas
	return nil
}
