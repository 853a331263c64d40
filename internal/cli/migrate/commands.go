// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/internal/cli/command"
)

// NewCommand is the command migrate, with those below it.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Turn the policies of another tool into Evenkeel's",
		Long: `Migrate reads what another tool enforces and writes policies that say the same: from
files, or from a cluster in which the other tool runs, where it compares what both find.`,
	}
	command.TakesCommand(cmd)
	files := newMigrateGatekeeperCommand()
	files.AddCommand(newApplyCommand(), newCompareCommand(), newStatusCommand())
	cmd.AddCommand(files)
	return cmd
}
