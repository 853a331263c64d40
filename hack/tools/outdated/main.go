// SPDX-License-Identifier: Apache-2.0

// Command outdated lists which direct dependencies of modules have newer versions, and says of each whether it can be
// had here: the version is fetched as an upgrade would fetch it, for a proxy may know a version that it doesn't give.
//
// Usage: outdated DIR...
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"text/tabwriter"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, goCommand); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// command runs the go command in a directory and returns what it prints on standard output.
type command func(dir string, args ...string) ([]byte, error)

func goCommand(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", append([]string{args[0], "-C", dir}, args[1:]...)...)
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.Bytes(), fmt.Errorf("go %s in %s: %w: %s", strings.Join(args, " "), dir, err,
			strings.TrimSpace(stderr.String()))
	}
	return stdout.Bytes(), nil
}

// module is what the go command says of a dependency.
type module struct {
	Path, Version string
	Update        *struct{ Version string }
	Deprecated    string
	Error         *struct{ Err string }
}

// run prints a table of all directories; only a directory that can't be read at all is an error.
func run(dirs []string, out io.Writer, run command) error {
	if len(dirs) == 0 {
		return errors.New("give the directories of modules")
	}
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "MODULE\tDEPENDENCY\tHAS\tNEWER\tREMARK")
	newer := 0
	for _, dir := range dirs {
		found, err := dependencies(dir, run)
		if err != nil {
			return err
		}
		for _, m := range found {
			version, remark := judge(dir, m, run)
			if version == "" && remark == "" {
				continue
			}
			newer++
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", dir, m.Path, m.Version, version, remark)
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	_, err := fmt.Fprintf(out, "%d direct dependencies have a newer version or a remark.\n", newer)
	return err
}

// dependencies are the direct ones of a module, each with its newest version.
func dependencies(dir string, run command) ([]module, error) {
	text, err := run(dir, "mod", "edit", "-json")
	if err != nil {
		return nil, err
	}
	var file struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("read go.mod in %s: %w", dir, err)
	}
	args := []string{"list", "-m", "-u", "-e", "-json"}
	for _, r := range file.Require {
		if !r.Indirect {
			args = append(args, r.Path)
		}
	}
	if len(args) == 5 {
		return nil, nil
	}
	if text, err = run(dir, args...); err != nil {
		return nil, err
	}
	var found []module
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var m module
		err := decoder.Decode(&m)
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the versions in %s: %w", dir, err)
		}
		found = append(found, m)
	}
}

// judge is a dependency's newer version, if there is one, and what there is to say of it.
func judge(dir string, m module, run command) (version, remark string) {
	switch {
	case m.Error != nil:
		return "", "not known: " + firstLine(m.Error.Err)
	case m.Update == nil && m.Deprecated != "":
		return "", "deprecated: " + firstLine(m.Deprecated)
	case m.Update == nil:
		return "", ""
	}
	if _, err := run(dir, "mod", "download", m.Path+"@"+m.Update.Version); err != nil {
		lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
		return m.Update.Version, "can't be had here: " + lines[len(lines)-1]
	}
	return m.Update.Version, ""
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
