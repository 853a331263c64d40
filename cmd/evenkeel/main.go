// SPDX-License-Identifier: Apache-2.0

// Command evenkeel is the policy controller and its command line: one binary.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // maintenance windows name time zones, and the image has no zone files

	ctrl "sigs.k8s.io/controller-runtime"

	"evenkeel.dev/evenkeel/internal/cli"
	"evenkeel.dev/evenkeel/internal/cli/terminal"
	"evenkeel.dev/evenkeel/internal/prose"
)

// patience is how long a command that was interrupted may take to end by itself: to
// take away what it began to write, not to go on with it.
const patience = 200 * time.Millisecond

func main() {
	root := cli.New(os.Args[0])
	ctx := context.Background()
	// The manager ends in order when it is asked to, and that is no failure.
	if cmd, _, err := root.Find(os.Args[1:]); err == nil && cmd.Name() == "manager" {
		ctx = ctrl.SetupSignalHandler()
	} else {
		ctx = endedBySignals(ctx)
	}
	stdout := terminal.NewStream(os.Stdout)
	root.SetOut(stdout)
	err := withLost(root.ExecuteContext(ctx), stdout.Err())
	var signalled *signalError
	switch {
	case errors.As(context.Cause(ctx), &signalled):
		os.Exit(signalled.code())
	case err == nil:
		return
	case isOutputClosed(err): // whoever reads has enough
		os.Exit(128 + int(syscall.SIGPIPE))
	}
	fmt.Fprintln(os.Stderr, told(err))
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		os.Exit(coded.ExitCode())
	}
	os.Exit(1)
}

// told is what is printed of an error, in which others' names and texts are no commands to a CI system.
func told(err error) string { return "evenkeel: " + prose.Lines(err.Error()) }

// withLost adds to how a command ended that what it printed is incomplete: not all that prints looks at
// the errors of its writes.
func withLost(err, lost error) error {
	var told *fs.PathError
	switch {
	case lost == nil, errors.As(err, &told) && told.Path == os.Stdout.Name():
		return err
	case err == nil:
		return lost
	}
	return fmt.Errorf("%w\n%w", err, lost)
}

// isOutputClosed says whether a command ended because nobody reads what it prints. A connection
// that breaks is another matter: nobody would know whether what was asked took effect.
func isOutputClosed(err error) bool {
	var file *fs.PathError
	return errors.As(err, &file) && errors.Is(file, syscall.EPIPE) &&
		(file.Path == os.Stdout.Name() || file.Path == os.Stderr.Name())
}

// signalError says which signal ended a command.
type signalError struct{ signal syscall.Signal }

func (e *signalError) Error() string { return e.signal.String() }

// code is what shells make of a program that a signal has ended.
func (e *signalError) code() int { return 128 + int(e.signal) }

// endedBySignals is a context that the first interrupt or SIGTERM cancels. A command
// that then doesn't end, because it reads standard input for example, is ended.
func endedBySignals(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		ended := &signalError{signal: syscall.SIGINT}
		if <-signals == syscall.SIGTERM {
			ended.signal = syscall.SIGTERM
		}
		cancel(ended)
		<-time.After(patience)
		os.Exit(ended.code())
	}()
	return ctx
}
