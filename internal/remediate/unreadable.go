package remediate

import (
	"errors"

	"evenkeel.dev/evenkeel/internal/seal"
)

// tellsNothing says whether a plan's records can't be read until a person acts: one of
// its slices is gone, or isn't proven to be ours. Such a plan writes nothing.
func tellsNothing(err error) bool {
	var incomplete errPlanIncomplete
	return errors.As(err, &incomplete) || errors.Is(err, seal.ErrUnproven)
}
