// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	passed, err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
	}
	if err != nil || !passed {
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (bool, error) {
	flags := flag.NewFlagSet("runtests", flag.ContinueOnError)
	extra := flags.String("flags", "", "further flags for go test, separated by spaces")
	packages := flags.String("packages", "", "packages to test in the place of all, separated by spaces (stage unit)")
	names := flags.String("names", "", "file to which the names of all tests and specs that ran are written, sorted")
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), "Usage: runtests [--flags FLAGS] [--packages PACKAGES] [--names FILE] [STAGE...]"+
			"\n\nStages, all of them by default:\n")
		for _, s := range stages() {
			fmt.Fprintf(flags.Output(), "  %-13s %s\n", s.name, s.about)
		}
		fmt.Fprintln(flags.Output(), "\nFlags:")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return true, nil
		}
		return false, err
	}
	chosen, err := choose(stages(), flags.Args())
	if err != nil {
		return false, err
	}
	named, err := packagesOf(chosen, strings.Fields(*packages))
	if err != nil {
		return false, err
	}
	root, err := findRoot()
	if err != nil {
		return false, err
	}
	reports, err := os.MkdirTemp("", "evenkeel-reports-")
	if err != nil {
		return false, fmt.Errorf("make a folder for the reports of suites: %w", err)
	}
	defer os.RemoveAll(reports)
	r := &runner{root: root, flags: strings.Fields(*extra), out: os.Stdout, live: terminal(os.Stdout), now: time.Now,
		began: time.Now(), reports: reports, packages: named, names: *names, disk: free}
	return r.run(ctx, chosen), nil
}

// terminal says whether somebody watches.
func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// findRoot returns the folder of the repository around the working folder.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working folder: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "hack", "runtests", "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no repository around the working folder: run this inside a checkout")
		}
		dir = parent
	}
}
