// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/version"
)

func newVersionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and what it was built from",
		Long: `Version prints the version of this program, the commit and date that it was built
from, and the Go version and platform that it was built for.`,
		Example: "  evenkeel version\n  evenkeel version -o json",
		Args:    command.TakesArguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := writeVersion(cmd.OutOrStdout(), output, version.Read())
			if err != nil {
				return command.WronglyCalled(cmd, err)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text, json or yaml")
	cmd.SetFlagErrorFunc(command.WronglyCalled)
	return cmd
}

// writeVersion errs when the format isn't known.
func writeVersion(out io.Writer, format string, v version.Build) error {
	var text []byte
	var err error
	switch format {
	case "text":
		text = versionText(v)
	case "json":
		text, err = json.MarshalIndent(v, "", "  ")
		text = append(text, '\n')
	case "yaml":
		text, err = yaml.Marshal(v)
	default:
		err = fmt.Errorf("--output %q: give text, json or yaml", format)
	}
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

// versionText is the version for people.
func versionText(v version.Build) []byte {
	commit := v.Commit
	switch {
	case commit == "":
		commit = "unknown"
	case v.Modified:
		commit += " with changes"
	}
	date := v.Date
	if date == "" {
		date = "unknown"
	}
	return fmt.Appendf(nil, "Version:  %s\nCommit:   %s\nDate:     %s\nGo:       %s %s\n", v.Version, commit, date,
		v.GoVersion, v.Platform)
}
