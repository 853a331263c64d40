// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/display"
	"evenkeel.dev/evenkeel/internal/prose"
)

// sourceFlags are what the commands on sources share.
type sourceFlags struct {
	*connect.Flags
	namespace string
}

// NewCommand is the command source, with those below it.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "source",
		Short: "Show PolicySources; trigger, suspend or resume a sync",
		Long: `Source shows the PolicySource objects: which revision of a Git repository is in
force, and what keeps a newer one from it. It triggers, suspends or resumes the sync
of a repository.`,
	}
	command.TakesCommand(cmd)
	flags := &sourceFlags{Flags: connect.TakesCluster(cmd)}
	cmd.PersistentFlags().StringVarP(&flags.namespace, "namespace", "n", "evenkeel-system",
		"the namespace of the sources")
	cmd.AddCommand(newListCommand(flags), newGetCommand(flags), newReconcileCommand(flags),
		newSuspendCommand(flags), newResumeCommand(flags))
	return cmd
}

func sourceFormats() []string { return []string{"table", "json", "yaml", "name"} }

func takesFormat(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVarP(into, "output", "o", "table", "one of "+strings.Join(sourceFormats(), ", "))
	command.CompletesWith(cmd, "output", sourceFormats()...)
}

func newListCommand(flags *sourceFlags) *cobra.Command {
	var output string
	var everywhere bool
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the sources",
		Long: `List shows every source of a namespace. It ends with code 0 when all of them are
ready, and with 1 otherwise.`,
		Example: `  evenkeel source list
  evenkeel source list --all-namespaces -o yaml`,
		Args: command.TakesArguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := command.OneOf("-o", output, sourceFormats()...); err != nil {
				return err
			}
			namespace := flags.namespace
			if everywhere {
				namespace = ""
			}
			c, err := flags.Client()
			if err != nil {
				return err
			}
			return listSources(cmd.Context(), c, namespace, output, cmd)
		},
	}
	takesFormat(cmd, &output)
	cmd.Flags().BoolVarP(&everywhere, "all-namespaces", "A", false, "list the sources of every namespace")
	return cmd
}

// streams are where a command writes what it found, and what there is to say of that.
type streams interface {
	OutOrStdout() io.Writer
	ErrOrStderr() io.Writer
}

func listSources(ctx context.Context, c client.Reader, namespace, output string, to streams) error {
	list := &v1alpha1.PolicySourceList{}
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return connect.Failure("list policy sources", err)
	}
	if output == "table" && len(list.Items) == 0 {
		_, err := fmt.Fprintln(to.OutOrStdout(), "No policy sources: docs/sources.md shows how to make one.")
		return err
	}
	if err := printSources(to, list.Items, namespace == "", output); err != nil {
		return err
	}
	waiting := 0
	for i := range list.Items {
		if !sourceReady(&list.Items[i]) {
			waiting++
		}
	}
	if waiting > 0 {
		return command.Exit(command.ExitFailed,
			fmt.Errorf("%d of %s %s ready: see evenkeel source get NAME", waiting,
				prose.Count(len(list.Items), "source"), prose.Verb(waiting, "isn't", "aren't")))
	}
	return nil
}

func sourceReady(src *v1alpha1.PolicySource) bool {
	ready, _, _ := display.Source{PolicySource: src, Now: time.Now()}.Ready()
	return ready == metav1.ConditionTrue
}

// printSources prints sources as -o asks for. Objects are printed as they are stored: of a condition that no manager
// keeps up to date it is told beside them that it counts no more.
func printSources(to streams, sources []v1alpha1.PolicySource, withNamespace bool, output string) error {
	out := to.OutOrStdout()
	if output == "table" {
		return printSourceTable(out, sources, withNamespace)
	}
	printer := map[string]printers.ResourcePrinter{"json": &printers.JSONPrinter{}, "yaml": &printers.YAMLPrinter{},
		"name": &printers.NamePrinter{}}[output]
	for i := range sources {
		sources[i].SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("PolicySource"))
		sources[i].ManagedFields = nil
		if shown := (display.Source{PolicySource: &sources[i], Now: time.Now()}); shown.Outdated() {
			_, _, why := shown.Ready()
			fmt.Fprintf(to.ErrOrStderr(), "warning: the conditions of policy source %s/%s are out of date: %s\n",
				sources[i].Namespace, sources[i].Name, why)
		}
		if err := printer.PrintObj(&sources[i], out); err != nil {
			return command.Exit(command.ExitFailure, fmt.Errorf("print policy source %s: %w", sources[i].Name, err))
		}
	}
	return nil
}

func printSourceTable(out io.Writer, sources []v1alpha1.PolicySource, withNamespace bool) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	columns := display.SourceColumns()
	if withNamespace {
		columns = append([]string{"NAMESPACE"}, columns...)
	}
	fmt.Fprintln(table, strings.Join(columns, "\t"))
	for i := range sources {
		row := display.Source{PolicySource: &sources[i], Now: time.Now()}.Row()
		if withNamespace {
			row = append([]string{sources[i].Namespace}, row...)
		}
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	return table.Flush()
}

func newGetCommand(flags *sourceFlags) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "get NAME",
		Short: "Show a source: what is in force, and each problem with its file and line",
		Long: `Get shows one source whole. It ends with code 0 when the newest revision is in
force, and with 1 otherwise.`,
		Example: "  evenkeel source get platform",
		Args:    command.TakesArguments(1, 1, "policy source; see evenkeel source list"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := command.OneOf("-o", output, sourceFormats()...); err != nil {
				return err
			}
			_, src, err := flags.source(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if output != "table" {
				if err := printSources(cmd, []v1alpha1.PolicySource{*src}, false, output); err != nil {
					return err
				}
				return readyOrFailed(src)
			}
			return showSource(cmd.OutOrStdout(), src)
		},
	}
	takesFormat(cmd, &output)
	return cmd
}

// source reads a source, through the client by which it may be changed.
func (f *sourceFlags) source(ctx context.Context, name string) (client.Client, *v1alpha1.PolicySource, error) {
	c, err := f.Client()
	if err != nil {
		return nil, nil, err
	}
	src := &v1alpha1.PolicySource{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: name}, src); err != nil {
		return nil, nil, connect.Failure(fmt.Sprintf("read policy source %s of namespace %s", name, f.namespace), err)
	}
	return c, src, nil
}

// showSource prints a source whole; the error tells that it isn't ready.
func showSource(out io.Writer, src *v1alpha1.PolicySource) error {
	for _, line := range (display.Source{PolicySource: src, Now: time.Now()}).Lines() {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return readyOrFailed(src)
}

func readyOrFailed(src *v1alpha1.PolicySource) error {
	if sourceReady(src) {
		return nil
	}
	return command.Exit(command.ExitFailed, fmt.Errorf("policy source %s isn't ready", src.Name))
}
