// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/internal/cli/authoring"
	"evenkeel.dev/evenkeel/internal/cli/breaker"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/judge"
	"evenkeel.dev/evenkeel/internal/cli/migrate"
	"evenkeel.dev/evenkeel/internal/cli/policy"
	"evenkeel.dev/evenkeel/internal/cli/rollout"
	"evenkeel.dev/evenkeel/internal/cli/source"
)

// New is the whole command line, of a program that was called by that name.
func New(program string) *cobra.Command {
	root := newRootCommand()
	calledAs(root, program)
	return root
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "evenkeel",
		Short: "Gate, scan and safely remediate a Kubernetes fleet by policies in Rego",
		Long: `Evenkeel enforces policies written in Rego: at admission, on what already lives
in the cluster, and by remediating violations through a verified rollout.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	command.TakesCommand(root)
	root.AddCommand(newManagerCommand(), newDoctorCommand(), newVersionCommand(), newDocsCommand())
	root.AddCommand(rollout.NewCommand(), breaker.NewCommand(), source.NewCommand(),
		policy.NewCommand(judge.NewTryCommand))
	root.AddCommand(judge.Commands()...)
	root.AddCommand(authoring.Commands()...)
	root.AddCommand(migrate.NewCommand())
	addCompletion(root)
	return root
}
