// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spf13/cobra"
)

// Library is the library of policies, seen from a package of commands.
const Library = "../../../policies"

// Invoke runs a subcommand and gives what it prints and the code that it ends with.
func Invoke(t *testing.T, cmd *cobra.Command, args ...string) (out, message string, code int) {
	t.Helper()
	var stdout bytes.Buffer
	cmd.SetOut(&stdout)
	cmd.SetErr(&stdout)
	cmd.SetArgs(args)
	cmd.SilenceErrors = true
	err := cmd.ExecuteContext(t.Context())
	if err == nil {
		return stdout.String(), "", 0
	}
	var coded interface {
		error
		ExitCode() int
	}
	if !errors.As(err, &coded) {
		t.Fatalf("error without an exit code: %v", err)
	}
	return stdout.String(), err.Error(), coded.ExitCode()
}

// Named is the one of some commands that bears a name.
func Named(t *testing.T, commands []*cobra.Command, name string) *cobra.Command {
	t.Helper()
	i := slices.IndexFunc(commands, func(cmd *cobra.Command) bool { return cmd.Name() == name })
	if i < 0 {
		t.Fatalf("there is no command %s", name)
	}
	return commands[i]
}

// Folder writes files, by their names.
func Folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
