// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"evenkeel.dev/evenkeel/hack/demo/internal/cluster"
	"evenkeel.dev/evenkeel/hack/demo/internal/screen"
)

const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

func main() {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	keep := flags.Bool("keep", os.Getenv("KEEP") != "" && os.Getenv("KEEP") != "0",
		"leave the cluster and the manager running and print how to use them (or set KEEP=1)")
	if err := flags.Parse(os.Args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return
		}
		os.Exit(exitUsage)
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "Error: unknown argument %q: demo takes flags only, see --help\n", flags.Arg(0))
		os.Exit(exitUsage)
	}
	ctrllog.SetLogger(logr.Discard()) // the client's log is no part of the story
	os.Exit(run(*keep))
}

// run ends with the exit code.
func run(keep bool) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	err := tell(ctx, screen.New(os.Stdout, time.Now), keep)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "Interrupted; everything was stopped.")
		return exitInterrupted
	default:
		fmt.Fprintln(os.Stderr, "Error:", err)
		return exitFailed
	}
}

// tell sets the stage, runs the steps and clears up.
func tell(ctx context.Context, show *screen.Screen, keep bool) error {
	root, err := cluster.FindRoot()
	if err != nil {
		return err
	}
	programs, err := cluster.Build(ctx, show, root)
	if err != nil {
		return err
	}
	d := newDemo(show, programs, keep, time.Now)
	if err := d.run(ctx); err != nil {
		return errors.Join(err, d.clearUpAfter(ctx, err))
	}
	d.stopNeighbours()
	if keep {
		d.sayHowToUse()
		return d.stage.StopMonitoring()
	}
	return d.stage.Stop(show)
}
