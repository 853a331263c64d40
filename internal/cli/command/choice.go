// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/prose"
)

// OneOf refuses a value that a flag doesn't take, and says which it takes and which was most likely meant.
func OneOf(flag, value string, taken ...string) error {
	if slices.Contains(taken, value) {
		return nil
	}
	return Exit(ExitUsage, fmt.Errorf("%s %q isn't supported: use one of %s%s", flag, value, strings.Join(taken, ", "),
		prose.DidYouMean(value, taken)))
}
