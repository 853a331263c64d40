// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"encoding/json"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/action"
)

// apply gives the object as the actions leave it, nil when they remove it. Patches
// are held to RFC 6902 to the letter, as the API server holds them.
func apply(object map[string]any, actions []policy.Action) (map[string]any, error) {
	_, after, err := action.Plan(object, actions, Now())
	return after, err
}

// text is an object as canonical JSON, for comparing and for reading.
func text(object any) string {
	written, err := json.MarshalIndent(object, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(written)
}
