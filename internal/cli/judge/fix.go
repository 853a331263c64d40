// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/check/fix"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/prose"
)

// fixOptions are the flags of fix.
type fixOptions struct {
	policies  policyChoice
	namespace string
	dryRun    bool
}

func newFixCommand() *cobra.Command {
	o := &fixOptions{}
	cmd := &cobra.Command{
		Use:   "fix PATH…|-",
		Short: "Fix manifests where they are written",
		Long: `Fix applies the fixes of policies to manifests in files and directories, so that
what is wrong is fixed at its source. Comments, order, quotes and indentation stay,
and so does every object that needs no fix, byte for byte.

A fix is made only when it is proven: the policy must find nothing afterwards, and no
policy that was chosen anything new. What can't be fixed so is listed, with the
reason. With - it reads standard input and prints it fixed.

It ends with code 0 when nothing is left to fix, with 1 when something is, with 2 when
it was called wrongly, and with 3 when something couldn't be read, judged or written.
With --dry-run, what it would change counts as left.`,
		Example: `  evenkeel fix deploy/
  evenkeel fix --dry-run -p policies deploy/ | less
  evenkeel fix --only host-namespaces deploy/agent.yaml
  cat agent.yaml | evenkeel fix - > fixed.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	cmd.SetFlagErrorFunc(command.WronglyCalled)
	cmd.Args = command.TakesPaths
	o.policies.connection, o.policies.offline = connect.TakesCluster(cmd), true
	o.policies.stderr = cmd.ErrOrStderr
	o.policies.AddFlags(cmd.Flags())
	cmd.Flags().StringVarP(&o.namespace, "namespace", "n", "default", "the namespace of objects that name none")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the changes as a unified diff instead of making them")
	return cmd
}

func (o *fixOptions) run(cmd *cobra.Command, paths []string) error {
	filter := slices.Contains(paths, "-")
	if filter && len(paths) > 1 {
		return command.WronglyCalled(cmd, errors.New("- was given beside files: standard input is fixed alone"))
	}
	stderr := cmd.ErrOrStderr()
	var stdin []byte
	if filter {
		var err error
		if stdin, err = io.ReadAll(cmd.InOrStdin()); err != nil {
			return command.Exit(command.ExitFailure, fmt.Errorf("read standard input: %w", err))
		}
	}
	documents, unread := manifest.Read(cmd.Context(), paths, bytes.NewReader(stdin),
		manifest.Options{Skipped: func(p manifest.Problem) { fmt.Fprintf(stderr, "skipped %s\n", p) }})
	if err := cmd.Context().Err(); err != nil {
		return command.Exit(command.ExitFailure, err)
	}
	if len(documents) == 0 && unread == nil {
		unread = errors.New(
			"no Kubernetes object was found: name files, or directories with .yaml, .yml or .json files")
	}
	texts, err := textsOf(documents, stdin, unread)
	if err != nil {
		return command.Exit(command.ExitFailure, err)
	}
	report, err := o.fix(cmd.Context(), documents, texts)
	if err != nil {
		return err
	}
	if err := o.put(cmd, report, documents, stdin, filter); err != nil {
		return command.Exit(command.ExitFailure, err)
	}
	return o.verdict(report, unread)
}

// textsOf reads the files of the documents. One that couldn't be read in full is left
// out, and so stays as it is.
func textsOf(documents []manifest.Document, stdin []byte, unread error) (map[string][]byte, error) {
	bad := map[string]bool{}
	var wrong *manifest.Error
	if errors.As(unread, &wrong) {
		for _, problem := range wrong.Problems {
			bad[problem.File] = true
		}
	}
	texts := map[string][]byte{}
	for i := range documents {
		name := documents[i].File
		if _, known := texts[name]; known || bad[name] {
			continue
		}
		if name == manifest.Stdin {
			texts[name] = stdin
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		texts[name] = text
	}
	return texts, nil
}

func (o *fixOptions) fix(ctx context.Context, documents []manifest.Document, texts map[string][]byte) (
	*fix.Report, error) {
	among := &policySet{}
	if err := among.addDocuments(ctx, documents, o.namespace); err != nil {
		return nil, err
	}
	o.policies.kinds = kindsOf(documents)
	snapshot, err := o.policies.load(ctx, among.waivers...)
	if err != nil {
		return nil, err
	}
	warnOfMisspelt(o.policies.stderr(), snapshot, documents)
	snapshot, found := seeingSubjects(o.policies.stderr(), snapshot,
		check.Of(documents, o.namespace, o.policies.namespaces))
	report, err := fix.Run(ctx, snapshot, documents, texts, fix.Options{Now: time.Now(), Namespace: o.namespace,
		Namespaces: o.policies.namespaces, LookedUp: found})
	if err != nil {
		return nil, command.Exit(command.ExitFailure, err)
	}
	return report, nil
}

// put writes the files, or prints what would change, and tells what was done.
func (o *fixOptions) put(cmd *cobra.Command, report *fix.Report, documents []manifest.Document, stdin []byte,
	filter bool) error {
	out, told := cmd.OutOrStdout(), cmd.OutOrStdout()
	if o.dryRun || filter {
		told = cmd.ErrOrStderr()
	}
	for i, file := range report.Files {
		if cmd.Context().Err() != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "interrupted: %d of %s %s fixed, the others are as they were\n", i,
				prose.Count(len(report.Files), "file"), prose.Verb(i, "is", "are"))
			return cmd.Context().Err()
		}
		if err := o.putFile(out, file, documents, filter); err != nil {
			return err
		}
	}
	if filter && !o.dryRun && len(report.Files) == 0 {
		if _, err := out.Write(stdin); err != nil {
			return fmt.Errorf("write the fixed text: %w", err)
		}
	}
	return o.tell(told, report)
}

// tell says what was fixed, and what is left.
func (o *fixOptions) tell(told io.Writer, report *fix.Report) error {
	for _, change := range report.Changes {
		fmt.Fprintln(told, change)
	}
	for _, left := range report.Left {
		fmt.Fprintln(told, "left:", left)
	}
	done := "fixed"
	if o.dryRun {
		done = "to fix"
	}
	files := prose.Plural(len(report.Files), "file")
	_, err := fmt.Fprintf(told, "%d %s in %d %s, %d left\n", len(report.Changes), done, len(report.Files), files,
		len(report.Left))
	return err
}

func (o *fixOptions) putFile(out io.Writer, file fix.File, documents []manifest.Document, filter bool) error {
	switch {
	case o.dryRun:
		text, err := diff(file, documents)
		if err == nil {
			_, err = io.WriteString(out, text)
		}
		return err
	case filter:
		_, err := out.Write(file.After)
		return err
	}
	return fix.Write(file)
}

// diff is the change of a file. Values of its Secrets aren't told.
func diff(file fix.File, documents []manifest.Document) (string, error) {
	var objects []map[string]any
	for i := range documents {
		if documents[i].File == file.Name {
			objects = append(objects, documents[i].Object)
		}
	}
	before, name := string(file.Before), strings.TrimPrefix(filepath.ToSlash(file.Name), "/")
	text, err := udiff.ToUnified("a/"+name, "b/"+name, before, udiff.Lines(before, string(file.After)),
		udiff.DefaultContextLines)
	if err != nil {
		return "", fmt.Errorf("compare %s with its fixed text: %w", file.Name, err)
	}
	return policy.SecretsOf(objects...).Redact(text), nil
}

// verdict is how the command ends.
func (o *fixOptions) verdict(report *fix.Report, unread error) error {
	if unread != nil {
		return command.Exit(command.ExitFailure, fmt.Errorf("not everything could be read:\n%w", unread))
	}
	if slices.ContainsFunc(report.Left, func(l fix.Left) bool { return l.Unjudged }) {
		return command.Exit(command.ExitFailure, errors.New("not everything could be judged: see above"))
	}
	if err := o.policies.unjudged(); err != nil {
		return command.Exit(command.ExitFailure, err)
	}
	switch {
	case len(report.Left) > 0:
		return command.Exit(command.ExitFailed,
			fmt.Errorf("left for a person: %d %s, see above", len(report.Left),
				prose.Plural(len(report.Left), "violation")))
	case o.dryRun && len(report.Changes) > 0:
		return command.Exit(command.ExitFailed, errors.New("there is something to fix: see above"))
	}
	return nil
}
