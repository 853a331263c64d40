// SPDX-License-Identifier: Apache-2.0

// Command mutate says how well tests hold the code that must not fail: it has gremlins change one operator after the
// other in a package, and each change that the package's own tests don't notice is a survivor, which it prints. What
// gremlins takes for granted and isn't so is corrected by a stand-in for the go command (gocommand.go).
//
// Usage: mutate --gremlins PROGRAM --core "DIR DIR" [PACKAGE...]; without a package, those of the core that changed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// program is what the stand-in is called by: gremlins calls go, and finds it under that name.
const program = "go"

func main() {
	if filepath.Base(os.Args[0]) == program {
		os.Exit(standIn(os.Args[1:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// options say what is mutated and what score is asked for.
type options struct {
	gremlins         string
	core             []string
	killed, covered  float64
	workers, timeout int
	packages         []string
}

func read(args []string, out io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&o.gremlins, "gremlins", "", "the program gremlins")
	core := flags.String("core", "",
		"the directories of the packages of which those that changed are mutated, with spaces between them")
	flags.Float64Var(&o.killed, "killed", 97, "percent of the covered mutants that tests must kill")
	flags.Float64Var(&o.covered, "covered", 95, "percent of the mutants that tests must reach")
	flags.IntVar(&o.workers, "workers", 1, "mutants that are tested at the same time")
	flags.IntVar(&o.timeout, "timeout", 20,
		"how many times as long as all tests without a mutant the tests of one may take")
	if err := flags.Parse(args); err != nil {
		return o, fmt.Errorf("read the flags: %w", err)
	}
	o.core, o.packages = strings.Fields(*core), flags.Args()
	if o.gremlins == "" {
		return o, errors.New("give the program gremlins")
	}
	return o, nil
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := read(args, out)
	if err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the module: %w", err)
	}
	packages, err := chosen(ctx, o, root, out)
	if err != nil || len(packages) == 0 {
		return err
	}
	var tallies []tally
	for _, dir := range packages {
		results, err := mutate(ctx, o, root, dir, out)
		if err != nil {
			return fmt.Errorf("mutate %s: %w", dir, err)
		}
		t := count(dir, results)
		if err := printMutants(out, root, dir, results); err != nil {
			return err
		}
		tallies = append(tallies, t)
	}
	return judge(out, tallies, o)
}

// chosen are the directories of the packages to mutate: those that are named, all of the core, or those of it that
// changed.
func chosen(ctx context.Context, o options, root string, out io.Writer) ([]string, error) {
	if slices.Equal(o.packages, []string{"all"}) {
		return o.core, nil
	}
	if len(o.packages) > 0 {
		var dirs []string
		for _, name := range o.packages {
			dir := filepath.Clean(name)
			if found, err := filepath.Glob(filepath.Join(root, dir, "*.go")); err != nil || len(found) == 0 {
				return nil, fmt.Errorf("%s is no directory of a package: name one as in PKG=./internal/canary, or "+
					"PKG=all for the safety core", name)
			}
			dirs = append(dirs, dir)
		}
		return dirs, nil
	}
	base, dirs, err := changed(ctx, root)
	if err != nil {
		return nil, err
	}
	packages := slices.DeleteFunc(slices.Clone(o.core), func(dir string) bool { return !slices.Contains(dirs, dir) })
	if len(packages) == 0 {
		fmt.Fprintf(out, "Nothing of the safety core has changed since %s. Name a package as in "+
			"PKG=./internal/canary, or all of it as PKG=all.\n", base)
	}
	return packages, nil
}
