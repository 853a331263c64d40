// SPDX-License-Identifier: Apache-2.0

package judge

import "github.com/spf13/cobra"

// Commands are the commands that judge objects by policies.
func Commands() []*cobra.Command {
	return []*cobra.Command{newCheckCommand(), newScanCommand(), newPlanCommand(), newRBACCommand(), newFixCommand(),
		newExplainCommand()}
}
