package suite

import (
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	kjson "sigs.k8s.io/json"

	"evenkeel.dev/evenkeel/internal/policy"
)

// apply gives the object as the actions leave it. The operations are held to RFC
// 6902 to the letter, as the API server holds them.
func apply(object map[string]any, actions []policy.Action) (map[string]any, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("write the object as JSON: %w", err)
	}
	for i, action := range actions {
		if action.Type != policy.ActionPatch {
			return nil, fmt.Errorf("action %d is %q: only patch can be tried on an example", i+1, action.Type)
		}
		ops, err := patchJSON(action.Ops)
		if err != nil {
			return nil, err
		}
		patch, err := jsonpatch.DecodePatch(ops)
		if err != nil {
			return nil, fmt.Errorf("action %d isn't a JSON Patch: %w", i+1, err)
		}
		if text, err = patch.Apply(text); err != nil {
			return nil, fmt.Errorf("action %d, %s: %w", i+1, ops, err)
		}
	}
	var patched map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &patched); err != nil {
		return nil, fmt.Errorf("read the patched object: %w", err)
	}
	return patched, nil
}

// patchJSON writes operations; a value of null is a value.
func patchJSON(ops []policy.PatchOp) ([]byte, error) {
	list := make([]map[string]any, len(ops))
	for i, op := range ops {
		list[i] = map[string]any{"op": op.Op, "path": op.Path}
		if op.From != "" {
			list[i]["from"] = op.From
		}
		if op.HasValue {
			list[i]["value"] = op.Value
		}
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("write the patch as JSON: %w", err)
	}
	return text, nil
}

// text is an object as canonical JSON, for comparing and for reading.
func text(object any) string {
	written, err := json.MarshalIndent(object, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(written)
}
