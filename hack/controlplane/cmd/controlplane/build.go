// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/hack/controlplane/internal/progress"
)

func newPrinter() *progress.Printer { return progress.New(os.Stderr, time.Now) }

func newBuild() *cobra.Command {
	return &cobra.Command{
		Use:   "build",
		Short: "Build the components into the cache folder, if they aren't there",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tools, err := locateToolchain()
			if err != nil {
				return err
			}
			built, err := tools.Build(cmd.Context(), newPrinter())
			if err != nil {
				return err
			}
			verb := "already built"
			if built {
				verb = "built"
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Control plane %s: %s\n", verb, tools.Bin())
			return nil
		},
	}
}

func newVersions() *cobra.Command {
	return &cobra.Command{
		Use:   "versions",
		Short: "Print the versions of the components",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tools, err := locateToolchain()
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "kubernetes %s\netcd       %s\nkwok       %s\n",
				tools.Versions.Kubernetes, tools.Versions.Etcd, tools.Versions.KWOK)
			return nil
		},
	}
}
