// SPDX-License-Identifier: Apache-2.0

// Command controlplane builds, starts and stops a local Kubernetes control plane.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// errNotReady ends `status` with exit code 1 and no message of its own: the
// table says it all.
var errNotReady = errors.New("not ready")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := newRoot().ExecuteContext(ctx); err != nil {
		if !errors.Is(err, errNotReady) {
			fmt.Fprintln(os.Stderr, "Error:", err)
		}
		stop()
		os.Exit(1)
	}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "controlplane",
		Short:         "A real Kubernetes control plane on this machine, for demos and tests",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newBuild(), newTools(), newUp(), newDown(), newStatus(), newRun(), newVersions(),
		newStop(), newStart(), newRestart())
	return root
}
