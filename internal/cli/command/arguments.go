// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/internal/prose"
)

// TakesDirectory makes the command take one DIR, and call any other use wrong.
func TakesDirectory(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(WronglyCalled)
	cmd.Args = TakesArguments(1, 1, "directory of policies")
}

// TakesArguments takes so many arguments; one says what each is, for people.
func TakesArguments(least, most int, one string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) >= least && len(args) <= most:
			return nil
		case most == 0:
			return WronglyCalled(cmd,
				fmt.Errorf("%d %s given: it takes none", len(args), prose.Plural(len(args), "argument")))
		default:
			return WronglyCalled(cmd,
				fmt.Errorf("%d %s given: give one %s", len(args), prose.Plural(len(args), "argument"), one))
		}
	}
}

// WronglyCalled says how a command is to be called, in so few lines that the
// error stays on the screen.
func WronglyCalled(cmd *cobra.Command, err error) error {
	usage := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		usage = cmd.CommandPath() + " [command]"
	}
	return Exit(ExitUsage, fmt.Errorf("%w\nusage: %s\nmore:  %s --help", err, usage, cmd.CommandPath()))
}

// TakesCommand makes a command that only holds others refuse words that none of
// them bears: by itself cobra prints the help then, and ends with code 0.
func TakesCommand(cmd *cobra.Command) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.SetFlagErrorFunc(WronglyCalled)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		var names []string
		for _, command := range cmd.Commands() {
			if command.IsAvailableCommand() {
				names = append(names, command.Name())
			}
		}
		return WronglyCalled(cmd,
			fmt.Errorf("there is no command %q: give one of %s%s", args[0], strings.Join(names, ", "),
				prose.DidYouMean(args[0], names)))
	}
}

// TakesPaths takes at least one PATH.
func TakesPaths(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return nil
	}
	return WronglyCalled(cmd,
		errors.New("no PATH given: give files or directories of manifests, or - for standard input"))
}
