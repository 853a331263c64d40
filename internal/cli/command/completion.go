// SPDX-License-Identifier: Apache-2.0

package command

import "github.com/spf13/cobra"

// CompletesWith completes a flag from a fixed set.
func CompletesWith(cmd *cobra.Command, flag string, values ...string) {
	CompletesBy(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// CompletesBy completes a flag by what a function answers. A flag that isn't there
// is a mistake in the code.
func CompletesBy(cmd *cobra.Command, flag string, by cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, by); err != nil {
		panic(err)
	}
}
