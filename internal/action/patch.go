// SPDX-License-Identifier: Apache-2.0

package action

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

func patchDefinition() Definition {
	return Definition{Type: policy.ActionPatch, Allowed: v1alpha1.ActionPatch, Needs: []Permission{{Verb: "patch"}},
		Describe: func(a policy.Action, limit int) string { return DescribeOps(a.Ops, limit) },
		rank:     rankPatch,
		write: func(_ map[string]any, a policy.Action, _ time.Time) (Step, error) {
			return Step{Type: v1alpha1.ActionPatch, Subresource: a.Subresource, Ops: a.Ops}, nil
		}}
}

// Apply applies the patch actions to a copy of the object, in order, as the API
// server would (with the same library), but for a replace of what isn't there: that is
// an error. The object itself isn't changed.
func Apply(obj map[string]any, actions []policy.Action) (map[string]any, error) {
	doc, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("encode the object: %w", err)
	}
	for _, a := range actions {
		if a.Type != policy.ActionPatch {
			return nil, fmt.Errorf("action %q is no patch: ask Steps", a.Type)
		}
		if doc, err = applyOps(doc, a.Ops); err != nil {
			return nil, err
		}
	}
	var out map[string]any
	// utiljson keeps integers as int64, as unstructured content does.
	if err := utiljson.Unmarshal(doc, &out); err != nil {
		return nil, fmt.Errorf("decode the patched object: %w", err)
	}
	return out, nil
}

// maxObjectBytes is the largest object that a fix may make, on the way too: the
// API server takes no larger request (MaxRequestBodyBytes, 3 MiB).
const maxObjectBytes = 3 << 20

// applyOps stops at each copy to look at the size: a copy can double the object,
// and a few dozen of them would use up all memory.
func applyOps(doc []byte, ops []policy.PatchOp) ([]byte, error) {
	for len(ops) > 0 {
		n := slices.IndexFunc(ops, func(op policy.PatchOp) bool { return op.Op == "copy" }) + 1
		if n == 0 {
			n = len(ops)
		}
		var err error
		if doc, err = applySome(doc, ops[:n]); err != nil {
			return nil, err
		}
		if len(doc) > maxObjectBytes {
			return nil, fmt.Errorf("the fix makes the object larger than %d bytes, which the API server doesn't take",
				maxObjectBytes)
		}
		ops = ops[n:]
	}
	return doc, nil
}

func applySome(doc []byte, ops []policy.PatchOp) ([]byte, error) {
	raw, err := Encode(strictly(ops))
	if err != nil {
		return nil, err
	}
	patch, err := jsonpatch.DecodePatch(raw)
	if err != nil {
		return nil, fmt.Errorf("the fix is no JSON Patch: %w", err)
	}
	out, err := patch.Apply(doc)
	if errors.Is(err, jsonpatch.ErrMissing) && len(ops) == 1 && ops[0].Op == opReplace {
		return nil, fmt.Errorf(
			"the fix doesn't apply to the object: replace %s: nothing is there to be replaced: use add",
			ops[0].Path)
	}
	if errors.Is(err, jsonpatch.ErrMissing) && len(ops) > 1 { // one by one, to say which
		for i := range ops {
			if doc, err = applySome(doc, ops[i:i+1]); err != nil {
				return nil, err
			}
		}
		return doc, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the fix doesn't apply to the object: %w", err)
	}
	return out, nil
}

const (
	opReplace = "replace"
	opTest    = "test"
)

// strictly has replace ask for what it replaces, as RFC 6902 does in section 4.3: the
// library takes it for add where nothing is there. Removing and adding is the same by
// the RFC's own words.
func strictly(ops []policy.PatchOp) []policy.PatchOp {
	var out []policy.PatchOp
	for _, op := range ops {
		if op.Op != opReplace || op.Path == "" {
			out = append(out, op)
			continue
		}
		out = append(out, policy.PatchOp{Op: "remove", Path: op.Path},
			policy.PatchOp{Op: "add", Path: op.Path, Value: op.Value, HasValue: op.HasValue})
	}
	return out
}

// Encode writes operations as a JSON Patch document.
func Encode(ops []policy.PatchOp) ([]byte, error) {
	out := make([]map[string]any, 0, len(ops))
	for _, op := range ops {
		entry := map[string]any{"op": op.Op, "path": op.Path}
		if op.From != "" {
			entry["from"] = op.From
		}
		if NeedsValue(op.Op) {
			entry["value"] = op.Value
		}
		out = append(out, entry)
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode the patch: %w", err)
	}
	return raw, nil
}

// NeedsValue says whether an operation carries a value (RFC 6902, section 4).
func NeedsValue(op string) bool { return op == "add" || op == opReplace || op == opTest }
