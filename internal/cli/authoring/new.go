// SPDX-License-Identifier: Apache-2.0

package authoring

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/scaffold"
	"evenkeel.dev/evenkeel/internal/suite"
)

func newNewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Begin something new: a policy",
		Long:  `New makes the files to begin with, which work as they stand.`,
	}
	command.TakesCommand(cmd)
	cmd.AddCommand(newNewPolicyCommand())
	return cmd
}

// newPolicyOptions are the flags of new policy.
type newPolicyOptions struct {
	dir, owner, runbook string
	kind                kindFinder
	withFix             bool
}

func (o *newPolicyOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.dir, "dir", ".",
		"directory that the policy's own is made in, named for its category, for example policies/security")
	f.StringVar(&o.kind.name, "kind", "Pod", "kind that the rule concerns: one of Kubernetes, or any as "+
		"KIND.GROUP/VERSION, or KIND.GROUP of --crds or the cluster; a rule on Pods covers every workload")
	f.StringVar(&o.kind.group, "group", "", "API group of --kind, where that names none")
	f.StringArrayVar(&o.kind.crds, "crds", nil, "file or directory of CustomResourceDefinitions that define --kind; "+
		"may be given many times (default: the cluster is asked for a kind without its version)")
	f.StringVar(&o.owner, "owner", "", "team that answers for the rule (default: a placeholder)")
	f.StringVar(&o.runbook, "runbook", "",
		"web address that tells what to do about a violation (default: a placeholder)")
	f.BoolVar(&o.withFix, "with-fix", false, "let the rule fix what it finds")
}

func newNewPolicyCommand() *cobra.Command {
	opts := newPolicyOptions{}
	cmd := &cobra.Command{
		Use:   "policy NAME",
		Short: "Make the directory of a new policy, which works as it stands",
		Long: `Policy makes a directory with a small rule that works, its unit tests and its
examples; comments lead through what to change. The words of NAME are joined by
dashes: they name the ClusterRegoPolicy, and with underscores the directory. What is
there already is never written over: then it ends with code 1.`,
		Example: `  evenkeel new policy no-escalation --dir policies/security --owner team-shop
  evenkeel new policy labelled-ingress --kind Ingress --with-fix
  evenkeel new policy named-certificates --kind Certificate.cert-manager.io/v1
  evenkeel new policy sized-widgets --kind Widget --group example.com --crds config/crd`,
		Args: command.TakesArguments(1, 1, "name of the policy"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return opts.run(cmd.Context(), cmd.OutOrStdout(), args[0])
		},
	}
	cmd.SetFlagErrorFunc(command.WronglyCalled)
	opts.AddFlags(cmd.Flags())
	opts.kind.cluster = connect.TakesCluster(cmd)
	return cmd
}

func (o *newPolicyOptions) run(ctx context.Context, out io.Writer, name string) error {
	kind, err := o.kind.find(ctx)
	if err != nil {
		return err
	}
	wanted := scaffold.Options{Name: name, Dir: o.dir, Kind: kind, Owner: o.owner, Runbook: o.runbook, Fix: o.withFix}
	var placeholders []string
	if wanted.Owner == "" {
		wanted.Owner = "team-example"
		placeholders = append(placeholders, "its owner, a placeholder now: "+wanted.Owner)
	}
	if wanted.Runbook == "" {
		wanted.Runbook = "https://example.com/runbooks/" + name
		placeholders = append(placeholders, "its runbook, a placeholder now: "+wanted.Runbook)
	}
	made, err := scaffold.New(wanted)
	if err != nil {
		return command.Exit(command.ExitUsage, err)
	}
	paths, err := made.Write(o.dir)
	if errors.Is(err, fs.ErrExist) {
		return command.Exit(command.ExitFailed, err)
	}
	if err != nil {
		return command.Exit(command.ExitFailure, err)
	}
	for _, path := range paths {
		fmt.Fprintln(out, path)
	}
	return tellNext(out, filepath.Join(o.dir, made.Dir), paths[0], placeholders)
}

// tellNext says what is to be done with the files; the command that comes next stands last.
func tellNext(out io.Writer, dir, rule string, placeholders []string) error {
	lines := []string{"", "The policy works as it stands. Make it yours:", "  the rule and its METADATA: " + rule}
	for _, placeholder := range placeholders {
		lines = append(lines, "  "+placeholder)
	}
	lines = append(lines, "  what passes and what violates: "+filepath.Join(dir, suite.ExamplesFile),
		"When it is done, print it for kubectl apply:", "  evenkeel build "+dir,
		"After each change, test it:", "  evenkeel test "+dir)
	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
}
