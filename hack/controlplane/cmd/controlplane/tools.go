// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/hack/controlplane/internal/debian"
)

func newTools() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "Fetch Prometheus, Alertmanager, sshd and bubblewrap into the cache folder, if they aren't there",
		Long: `Tools fetches Prometheus and Alertmanager, with promtool and amtool, OpenSSH's
sshd and bubblewrap as packages of this machine's Debian or Ubuntu release. It needs no root and installs
nothing. On a machine without apt it takes what stands in PATH.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "text" && output != "json" {
				return fmt.Errorf("--output %q: use text or json", output)
			}
			tools, err := debian.Locate()
			if err != nil {
				return err
			}
			if _, err := tools.Fetch(cmd.Context(), newPrinter()); err != nil {
				return err
			}
			paths := map[string]string{}
			for _, p := range debian.Programs() {
				paths[p.Name] = tools.Path(p.Name)
				if output == "text" {
					fmt.Fprintf(cmd.OutOrStdout(), "%-24s %s\n", p.Name, paths[p.Name])
				}
			}
			if output == "json" {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(paths)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text",
		"text, or json: an object from each program's name to its path")
	return cmd
}
