// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/output"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
)

// migrateOptions are the flags of migrate gatekeeper.
type migrateOptions struct {
	metadata
	output     string
	force      bool
	operations []string
}

func newMigrateGatekeeperCommand() *cobra.Command {
	o := &migrateOptions{}
	cmd := &cobra.Command{
		Use:   "gatekeeper PATH…|-",
		Short: "Turn Gatekeeper's templates and constraints into policies",
		Long: `Gatekeeper reads ConstraintTemplates and constraints from files, directories or
standard input, and writes each ConstraintTemplate as a RegoTemplate and each constraint as a
ClusterRegoPolicy that names it, with the same verdicts: a file each, or all on standard
output. What can't be expressed is listed with what to do, and nothing of it is written.
CustomResourceDefinitions among the files tell which kinds a constraint on every kind
means beside those of Kubernetes, and which of them live in namespaces. Gatekeeper's
ValidatingWebhookConfiguration among them tells which operations its webhook is asked
about, and so the policies; without it --operations does.

The commands below it (apply, compare, status) move a cluster in which
Gatekeeper runs. A file of such a name is given as ./apply.

Gatekeeper has no severity, owner or runbook: the flags give them. Without --runbook
the policies have no runbookURL. It ends with code 0 when every constraint was
migrated, with 1 when something needs work, with 2 when it was called wrongly, and with
3 when something couldn't be read or written.`,
		Example: `  evenkeel migrate gatekeeper gatekeeper/ -o policies --owner platform-security
  kubectl get constrainttemplates,constraints,crds,validatingwebhookconfigurations -o yaml |
    evenkeel migrate gatekeeper - > policies.yaml`,
		Args: command.TakesPaths,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	cmd.SetFlagErrorFunc(command.WronglyCalled)
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "directory to write a file a policy to, and a file a "+
		"template to templates/ in it (default: all on standard output)")
	cmd.Flags().BoolVar(&o.force, "force", false, "write over files that are there")
	cmd.Flags().StringSliceVar(&o.operations, "operations", []string{"CREATE", "UPDATE"}, "admission operations that "+
		"Gatekeeper's webhook is asked about, of CREATE, UPDATE, DELETE and CONNECT, where its "+
		"ValidatingWebhookConfiguration isn't among the files")
	o.addFlags(cmd)
	return cmd
}

func (o *migrateOptions) asked() (ops []v1alpha1.Operation, err error) {
	all := []v1alpha1.Operation{v1alpha1.OperationCreate, v1alpha1.OperationUpdate, v1alpha1.OperationDelete,
		v1alpha1.OperationConnect}
	for _, name := range o.operations {
		op := v1alpha1.Operation(strings.ToUpper(strings.TrimSpace(name)))
		if !slices.Contains(all, op) {
			return nil, fmt.Errorf("--operations: %q isn't an admission operation: give CREATE, UPDATE, DELETE or "+
				"CONNECT", name)
		}
		if !slices.Contains(ops, op) {
			ops = append(ops, op)
		}
	}
	if len(ops) == 0 {
		return nil, errors.New("--operations must name what the webhook is asked about, for example " +
			"CREATE,UPDATE,DELETE")
	}
	return ops, nil
}

func (o *migrateOptions) run(cmd *cobra.Command, paths []string) error {
	if err := o.validate(); err != nil {
		return err
	}
	operations, err := o.asked()
	if err != nil {
		return command.Exit(command.ExitUsage, err)
	}
	documents, unread := manifest.Read(cmd.Context(), paths, cmd.InOrStdin(), manifest.Options{})
	if err := cmd.Context().Err(); err != nil {
		return command.Exit(command.ExitFailure, err)
	}
	items := gatekeeper.Migrate(documents, o.options(gatekeeper.Options{Operations: operations}))
	if err := o.write(cmd.OutOrStdout(), items); err != nil {
		return err
	}
	if err := o.tell(cmd, items); err != nil {
		return command.Exit(command.ExitFailure, err)
	}
	return verdictOf(items, unread)
}

// file is one object as a file.
type file struct {
	name string
	text []byte
}

// files are what was migrated, the templates first: each in its own directory, since a policy
// may have a template's name.
func files(items []gatekeeper.Item) ([]file, error) {
	var templates, policies []file
	for _, item := range items {
		switch {
		case item.Template != nil:
			text, err := directory.Render([]*v1alpha1.RegoTemplate{item.Template})
			if err != nil {
				return nil, err
			}
			templates = append(templates, file{filepath.Join("templates", item.Template.Name+".yaml"), text})
		case item.Policy != nil:
			text, err := directory.Render([]*v1alpha1.ClusterRegoPolicy{item.Policy})
			if err != nil {
				return nil, err
			}
			policies = append(policies, file{item.Policy.Name + ".yaml", text})
		}
	}
	all := append(templates, policies...)
	for i, f := range all {
		if slices.ContainsFunc(all[:i], func(other file) bool { return other.name == f.name }) {
			return nil, fmt.Errorf("two objects would be written to %s: rename one of them", f.name)
		}
	}
	return all, nil
}

func (o *migrateOptions) write(out io.Writer, items []gatekeeper.Item) error {
	written, err := files(items)
	if err != nil {
		return command.Exit(command.ExitFailure, err)
	}
	if o.output != "" {
		return o.writeFiles(written)
	}
	var all [][]byte
	for _, f := range written {
		all = append(all, f.text)
	}
	if _, err := out.Write(bytes.Join(all, []byte("---\n"))); err != nil {
		return command.Exit(command.ExitFailure, fmt.Errorf("write the policies: %w", err))
	}
	return nil
}

func (o *migrateOptions) writeFiles(written []file) error {
	for _, f := range written {
		if place := filepath.Join(o.output, f.name); !o.force {
			if _, err := os.Lstat(place); !errors.Is(err, fs.ErrNotExist) {
				return command.Exit(command.ExitFailure,
					fmt.Errorf("%s is there already, so nothing was written: give another directory, or --force to "+
						"write over it", place))
			}
		}
	}
	for _, f := range written {
		place := filepath.Join(o.output, f.name)
		if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
			return command.Exit(command.ExitFailure, fmt.Errorf("make the directory of policies: %w", err))
		}
		if err := output.WriteFile(place, f.text); err != nil {
			return command.Exit(command.ExitFailure, fmt.Errorf("write %s: %w", place, err))
		}
	}
	return nil
}

func becomes(item *gatekeeper.Item) string {
	switch {
	case item.Policy != nil:
		return item.Policy.Name
	case item.Template != nil:
		return "RegoTemplate/" + item.Template.Name
	}
	return "-"
}

func (o *migrateOptions) tell(cmd *cobra.Command, items []gatekeeper.Item) error {
	out := cmd.ErrOrStderr()
	if o.output != "" {
		out = cmd.OutOrStdout()
	}
	return o.tellOf(cmd, out, items)
}

func verdictOf(items []gatekeeper.Item, unread error) error {
	if unread != nil {
		return command.Exit(command.ExitFailure, fmt.Errorf("not everything could be read:\n%w", unread))
	}
	if len(items) == 0 {
		return command.Exit(command.ExitFailure,
			errors.New("nothing of Gatekeeper's was found: name files or directories with ConstraintTemplates and "+
				"constraints"))
	}
	for _, item := range items {
		if item.State == gatekeeper.NeedsWork {
			return command.Exit(command.ExitFailed, errors.New("not everything could be migrated: see above"))
		}
	}
	return nil
}
