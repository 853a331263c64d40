// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/hack/controlplane"
)

func newStatus() *cobra.Command {
	var at place
	var output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the components; exit code 1 unless all are ready",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "" && output != "json" {
				return fmt.Errorf("-o %q: the only format is json", output)
			}
			dir, err := at.resolve()
			if err != nil {
				return err
			}
			instance, err := controlplane.Open(dir)
			if errors.Is(err, controlplane.ErrNoInstance) && output == "json" {
				_ = writeStatus(cmd.OutOrStdout(), output,
					controlplane.Status{Dir: dir, Components: []controlplane.ComponentStatus{}})
			}
			if err != nil {
				return err
			}
			status, err := instance.Status(cmd.Context())
			if err != nil {
				return err
			}
			if err := writeStatus(cmd.OutOrStdout(), output, status); err != nil {
				return err
			}
			if !status.Ready {
				return errNotReady
			}
			return nil
		},
	}
	at.addFlags(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "", "json for a machine-readable answer")
	return cmd
}

func writeStatus(out io.Writer, format string, status controlplane.Status) error {
	if format == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(status)
	}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "COMPONENT\tPID\tSTATE\tPORT\tREASON")
	for _, c := range status.Components {
		pid := "-"
		if c.PID != 0 {
			pid = strconv.Itoa(c.PID)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\n", c.Name, pid, c.State, c.Port, c.Reason)
	}
	return table.Flush()
}
