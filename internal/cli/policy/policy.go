// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
)

// NewCommand is the command policy, with those below it; further ones come from other packages.
func NewCommand(further ...func(*connect.Flags) *cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Try policies on a cluster, and soften one's enforcement in an emergency",
		Long: `Policy tries policies on what lives in a cluster before they are applied, and overrides
one that is in force, no matter who manages it: kubectl, or a PolicySource from Git. History says who has
overridden which.`,
	}
	command.TakesCommand(cmd)
	flags := connect.TakesCluster(cmd)
	cmd.AddCommand(newOverrideCommand(flags), newHistoryCommand(flags))
	for _, command := range further {
		cmd.AddCommand(command(flags))
	}
	return cmd
}
