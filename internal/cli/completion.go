// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/internal/cli/command"
)

// addCompletion adds cobra's own command, which by itself prints its help for a
// shell that it doesn't know, and ends with code 0.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			command.TakesCommand(cmd)
		}
	}
}
