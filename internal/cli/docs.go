// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/output"
	"evenkeel.dev/evenkeel/internal/version"
)

// newDocsCommand writes the reference of the command line. It is for those who
// build the program, and so hidden.
func newDocsCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "docs DIR",
		Short: "Write the reference of all commands into a directory",
		Long: `Docs writes one page a command into DIR, as Markdown or as man pages of section 1.
The same program writes the same pages on every machine; a man page bears the date
of SOURCE_DATE_EPOCH, when that is set.`,
		Example: `  evenkeel docs docs/reference/cli
  evenkeel docs --format man /usr/share/man/man1`,
		Args:   command.TakesArguments(1, 1, "directory"),
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return command.Exit(command.ExitFailure, err)
			}
			root := cmd.Root()
			root.InitDefaultCompletionCmd()
			everywhereAlike(root)
			var err error
			switch format {
			case "markdown":
				err = writeMarkdown(root, args[0])
			case "man":
				err = doc.GenManTree(root,
					&doc.GenManHeader{Section: "1", Source: "Evenkeel " + version.String(), Manual: "Evenkeel"},
					args[0])
			default:
				return command.WronglyCalled(cmd,
					fmt.Errorf("--format %q isn't supported: use markdown or man", format))
			}
			if err != nil {
				return command.Exit(command.ExitFailure, fmt.Errorf("write the reference: %w", err))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", "markdown", "markdown or man")
	command.CompletesWith(cmd, "format", "markdown", "man")
	return cmd
}

// writeMarkdown writes one page a command.
func writeMarkdown(cmd *cobra.Command, dir string) error {
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand() {
			continue
		}
		if err := writeMarkdown(sub, dir); err != nil {
			return err
		}
	}
	var page bytes.Buffer
	if err := doc.GenMarkdown(cmd, &page); err != nil {
		return err
	}
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "_") + ".md"
	return output.WriteFile(filepath.Join(dir, name), []byte(withTextFences(page.String())))
}

// withTextFences says of every block of a page that it is text: usage and flags
// aren't to be run.
func withTextFences(page string) string {
	parts := strings.Split(page, "```\n")
	for i := range parts {
		if i%2 == 1 {
			parts[i] = "text\n" + parts[i]
		}
	}
	page = strings.Join(parts, "```\n")
	return strings.ReplaceAll(page, "```\ntext\n", "```text\n")
}

// everywhereAlike takes what differs between machines out of the pages: the date,
// and defaults that name this one's folders.
func everywhereAlike(cmd *cobra.Command) {
	cmd.DisableAutoGenTag = true
	named := []string{strings.TrimSuffix(os.TempDir(), "/"), "$TMPDIR"}
	if home, err := os.UserHomeDir(); err == nil && home != "/" {
		named = append(named, home, "$HOME")
	}
	names := strings.NewReplacer(named...)
	alike := func(f *pflag.Flag) {
		if strings.HasPrefix(f.DefValue, "/") {
			f.DefValue = names.Replace(f.DefValue)
		}
	}
	cmd.Flags().VisitAll(alike)
	cmd.PersistentFlags().VisitAll(alike)
	for _, sub := range cmd.Commands() {
		everywhereAlike(sub)
	}
}
