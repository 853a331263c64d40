// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
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
	"evenkeel.dev/evenkeel/hack/demo/internal/recording"
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
	record := flags.String("record", "", "write what the terminal shows to this file, as an SVG that plays by itself")
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
	os.Exit(run(*keep, *record))
}

// run ends with the exit code.
func run(keep bool, record string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	err := show(ctx, keep, record)
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

// show tells the story on standard output, and records it if it is asked to. Only a story that was told to its end
// is written.
func show(ctx context.Context, keep bool, record string) error {
	if record == "" {
		return tell(ctx, screen.New(os.Stdout, time.Now), keep)
	}
	terminal := recording.New(time.Now)
	if err := tell(ctx, screen.NewRecorded(os.Stdout, terminal, recording.Columns, time.Now), keep); err != nil {
		return err
	}
	var picture bytes.Buffer
	title := "make demo: Evenkeel's main job on a real control plane, each claim checked against the API server"
	if err := terminal.WriteSVG(&picture, title); err != nil {
		return err
	}
	return os.WriteFile(record, picture.Bytes(), 0o644) //nolint:gosec // a picture for a page: everybody may read it
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
