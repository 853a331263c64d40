package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/internal/policy/krm"
	"evenkeel.dev/evenkeel/internal/policy/source"
)

// The exit codes: something isn't as it should be; the command was called
// wrongly; the command couldn't do its work.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitFailure = 3
)

// exitError ends the program with a code. What it says is all that is printed.
type exitError struct {
	code int
	err  error
}

// Error is the reason.
func (e *exitError) Error() string { return e.err.Error() }

// Unwrap is the reason.
func (e *exitError) Unwrap() error { return e.err }

// ExitCode is the code that the program ends with.
func (e *exitError) ExitCode() int { return e.code }

func newBuildCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "build DIR|- [-o FILE]",
		Short: "Print the policies of a directory as ClusterRegoPolicy objects",
		Long: `Build reads every policy at and below DIR and prints it as a ClusterRegoPolicy,
ready for kubectl apply. It reads strictly: when anything is wrong it prints all
that is wrong as file:line: message, one a line, and ends with code 1.

With - it is a KRM function, for kustomize and kpt: it reads a ResourceList, whose
functionConfig names the directory, and prints it with the policies in it.`,
		Example: `  evenkeel build policies | kubectl apply -f -
  evenkeel build policies/security -o security.yaml
  kustomize build --enable-alpha-plugins --enable-exec overlays/prod`,
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := built(args[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			if output == "" || output == "-" {
				_, err = cmd.OutOrStdout().Write(text)
			} else {
				err = os.WriteFile(output, text, 0o644)
			}
			if err != nil {
				return &exitError{exitFailure, fmt.Errorf("write the policies: %w", err)}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "file to write to (default: standard output)")
	takesDirectory(cmd)
	return cmd
}

// takesDirectory makes the command take one DIR, and call any other use wrong.
func takesDirectory(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(wronglyCalled)
	cmd.Args = takesArguments(1, 1, "directory of policies")
}

// takesArguments takes so many arguments; one says what each is, for people.
func takesArguments(least, most int, one string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) >= least && len(args) <= most:
			return nil
		case most == 0:
			return wronglyCalled(cmd, fmt.Errorf("%d arguments given: it takes none", len(args)))
		default:
			return wronglyCalled(cmd, fmt.Errorf("%d arguments given: give one %s", len(args), one))
		}
	}
}

// wronglyCalled says how a command is to be called, in so few lines that the
// error stays on the screen.
func wronglyCalled(cmd *cobra.Command, err error) error {
	usage := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		usage = cmd.CommandPath() + " [command]"
	}
	return &exitError{exitUsage, fmt.Errorf("%w\nusage: %s\nmore:  %s --help", err, usage, cmd.CommandPath())}
}

// takesCommand makes a command that only holds others refuse words that none of
// them bears: by itself cobra prints the help then, and ends with code 0.
func takesCommand(cmd *cobra.Command) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.SetFlagErrorFunc(wronglyCalled)
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
		return wronglyCalled(cmd, fmt.Errorf("there is no command %q: give one of %s", args[0], strings.Join(names, ", ")))
	}
}

// built is what build prints.
func built(dir string, stdin io.Reader) ([]byte, error) {
	if dir != "-" {
		return build(dir)
	}
	var list bytes.Buffer
	if err := krm.Run(stdin, &list); err != nil {
		return nil, &exitError{exitFailed, err}
	}
	return list.Bytes(), nil
}

func build(dir string) ([]byte, error) {
	tree, err := source.Open(dir)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	policies, err := source.Load(tree.FS, tree.Root)
	if err != nil {
		return nil, &exitError{exitFailed, located(tree, err)}
	}
	text, err := source.Render(policies)
	if err != nil {
		return nil, &exitError{exitFailed, err}
	}
	return text, nil
}

// located names the files of a load's problems as the user sees them.
func located(tree source.Tree, err error) error {
	var wrong *source.Error
	if !errors.As(err, &wrong) {
		return err
	}
	seen := &source.Error{}
	for _, problem := range wrong.Problems {
		problem.File = tree.Path(problem.File)
		seen.Problems = append(seen.Problems, problem)
	}
	return fmt.Errorf("problems found: %d\n%w", len(seen.Problems), seen)
}
