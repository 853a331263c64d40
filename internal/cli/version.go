// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"

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
			text, err := versionAs(output, version.Read())
			if err != nil {
				return command.WronglyCalled(cmd, err)
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text, json or yaml")
	cmd.SetFlagErrorFunc(command.WronglyCalled)
	return cmd
}

// versionAs is the version in a format; one that isn't known is an error.
func versionAs(format string, v version.Build) ([]byte, error) {
	switch format {
	case "text":
		return versionText(v), nil
	case "json":
		text, err := json.MarshalIndent(v, "", "  ")
		return append(text, '\n'), err
	case "yaml":
		return yaml.Marshal(v)
	default:
		return nil, command.OneOf("--output", format, "text", "json", "yaml")
	}
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
