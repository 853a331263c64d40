// SPDX-License-Identifier: Apache-2.0

package authoring

import "github.com/spf13/cobra"

// Commands are the commands for authors of policies.
func Commands() []*cobra.Command {
	return []*cobra.Command{newNewCommand(), newBuildCommand(), newTestCommand(), newRunbooksCommand()}
}
