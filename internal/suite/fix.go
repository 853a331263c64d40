// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"encoding/json"

	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/policy"
)

// apply gives the object as the actions leave it, nil when they remove it, and what they make besides. Patches
// are held to RFC 6902 to the letter, as the API server holds them.
func apply(object map[string]any, actions []policy.Action) (after map[string]any, made []map[string]any, err error) {
	steps, after, err := action.Steps(object, actions, Now())
	if err != nil {
		return nil, nil, err
	}
	return after, action.Made(object, steps), nil
}

// text is an object as canonical JSON, for comparing and for reading.
func text(object any) string {
	written, err := json.MarshalIndent(object, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(written)
}
