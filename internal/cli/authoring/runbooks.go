// SPDX-License-Identifier: Apache-2.0

package authoring

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/output"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/suite"
)

func newRunbooksCommand() *cobra.Command {
	docs := policy.DefaultDocsURL
	var rego command.RegoTree
	cmd := &cobra.Command{
		Use:   "runbooks DIR OUT",
		Short: "Write a page for each policy: what it refuses, why, and what to do",
		Long: `Runbooks writes OUT/NAME.md for every policy at and below DIR, from its METADATA and
its examples: what the policy asks for, objects that are refused with the messages
that people get, the fix of each as a diff, and objects that pass. Publish them where
related_resources of the METADATA leads to. Other files in OUT stay as they are.`,
		Example: `  evenkeel runbooks policies docs/policies
  evenkeel runbooks policies site/policies --docs-url https://wiki.example.com/evenkeel`,
		SilenceUsage: true,
		Args:         command.TakesArguments(2, 2, "directory of policies and one to write to"),
		RunE: func(cmd *cobra.Command, args []string) error {
			tree, err := rego.Open(args[0])
			if err != nil {
				return err
			}
			policies, err := directory.LoadLocated(tree.FS, tree.Root)
			if err != nil {
				return command.Exit(command.ExitFailed, tree.Located(err))
			}
			if err := os.MkdirAll(args[1], 0o755); err != nil {
				return command.Exit(command.ExitFailure, err)
			}
			for _, p := range policies {
				text, err := suite.Page(cmd.Context(), tree.FS, p, docs)
				if err != nil {
					return command.Exit(command.ExitFailed, err)
				}
				if err := output.WriteFile(filepath.Join(args[1], p.Definition.Name+".md"), text); err != nil {
					return command.Exit(command.ExitFailure,
						fmt.Errorf("write the page of policy %s: %w", p.Definition.Name, err))
				}
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d %s written to %s\n", len(policies), prose.Plural(len(policies), "page"),
				args[1])
			return nil
		},
	}
	rego.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&docs, "docs-url", docs, "address of Evenkeel's documentation, for links to it")
	cmd.SetFlagErrorFunc(command.WronglyCalled)
	return cmd
}
