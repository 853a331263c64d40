// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"

	"evenkeel.dev/evenkeel/internal/seal"
)

// Unreadable says whether a plan's records can't be read until a person acts: one of
// its slices is gone, or isn't proven to be ours. Such a plan writes nothing.
func Unreadable(err error) bool {
	var incomplete IncompleteError
	return errors.As(err, &incomplete) || errors.Is(err, seal.ErrUnproven)
}
