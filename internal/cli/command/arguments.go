// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
	if took := tookForCluster(cmd); took != "" || strings.Contains(err.Error(), "flag needs an argument: --cluster") &&
		cmd.Flag(inForce) != nil {
		err = fmt.Errorf("%w\n--cluster names a cluster of the kubeconfig%s: for the policies in force there give --%s",
			err, took, inForce)
	}
	if flag, unknown := strings.CutPrefix(err.Error(), "unknown flag: --"); unknown {
		var flags []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, "--"+f.Name) })
		err = fmt.Errorf("%w%s", err, prose.DidYouMean("--"+flag, flags))
	}
	usage := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		usage = cmd.CommandPath() + " [command]"
	}
	return Exit(ExitUsage, fmt.Errorf("%w\nusage: %s\nmore:  %s --help", err, usage, cmd.CommandPath()))
}

// inForce is the flag by which a command judges by the policies in force.
const inForce = "in-force"

// tookForCluster says what a command took for the name of a cluster and was hardly meant as one, as an old script gives
// it that had --cluster for the policies in force; empty where it took nothing so.
func tookForCluster(cmd *cobra.Command) string {
	named, judges := cmd.Flag("cluster"), cmd.Flag(inForce)
	if named == nil || judges == nil || judges.Changed || !named.Changed {
		return ""
	}
	name := named.Value.String()
	if _, err := os.Stat(name); err != nil && !NoCluster(name) {
		return ""
	}
	return fmt.Sprintf(", and took %q for its name", name)
}

// NoCluster says that a name is that of a flag, or a path that is there, and hardly that of a cluster.
func NoCluster(name string) bool {
	if !strings.Contains(name, "/") {
		return strings.HasPrefix(name, "-")
	}
	_, err := os.Stat(name)
	return err == nil
}

// TakesCommand makes a command that only holds others refuse words that none of
// them bears: by itself cobra prints the help then, and ends with code 0.
func TakesCommand(cmd *cobra.Command) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.SetFlagErrorFunc(func(called *cobra.Command, err error) error {
		// A word that is no command comes first: its flags can't be known.
		if words := called.Flags().Args(); called == cmd && len(words) > 0 {
			return noCommand(cmd, words[0])
		}
		return WronglyCalled(called, err)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return noCommand(cmd, args[0])
	}
}

func noCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, command := range cmd.Commands() {
		if command.IsAvailableCommand() {
			names = append(names, command.Name())
		}
	}
	return WronglyCalled(cmd, fmt.Errorf("there is no command %q: give one of %s%s", word, strings.Join(names, ", "),
		prose.DidYouMean(word, names)))
}

// TakesPaths takes at least one PATH.
func TakesPaths(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return nil
	}
	return WronglyCalled(cmd,
		errors.New("no PATH given: give files or directories of manifests, or - for standard input"))
}
