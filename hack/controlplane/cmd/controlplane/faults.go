// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/hack/controlplane"
)

const faultTimeout = 2 * time.Minute

// action does something to one component of an instance.
type action func(context.Context, *controlplane.Instance, controlplane.Component) error

func newStop() *cobra.Command {
	var sig string
	cmd := newFault("stop", "Stop one component, keeping its data and port",
		func(ctx context.Context, i *controlplane.Instance, c controlplane.Component) error {
			number, err := parseSignal(sig)
			if err != nil {
				return err
			}
			return i.StopComponent(ctx, c, number)
		})
	addSignalFlag(cmd, &sig)
	return cmd
}

func newStart() *cobra.Command {
	return newFault("start", "Start one component again and wait until it's healthy",
		func(ctx context.Context, i *controlplane.Instance, c controlplane.Component) error {
			return i.StartComponent(ctx, c)
		})
}

func newRestart() *cobra.Command {
	var sig string
	cmd := newFault("restart", "Stop one component and start it again",
		func(ctx context.Context, i *controlplane.Instance, c controlplane.Component) error {
			number, err := parseSignal(sig)
			if err != nil {
				return err
			}
			return i.RestartComponent(ctx, c, number)
		})
	addSignalFlag(cmd, &sig)
	return cmd
}

func newFault(verb, short string, do action) *cobra.Command {
	var at place
	cmd := &cobra.Command{
		Use:   verb + " COMPONENT",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			component, err := controlplane.ParseComponent(args[0])
			if err != nil {
				return err
			}
			dir, err := at.resolve()
			if err != nil {
				return err
			}
			instance, err := controlplane.Open(dir)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), faultTimeout)
			defer cancel()
			return do(ctx, instance, component)
		},
	}
	at.addFlags(cmd)
	return cmd
}

func addSignalFlag(cmd *cobra.Command, sig *string) {
	cmd.Flags().StringVar(sig, "signal", "TERM", "TERM to let it end by itself (killed after 10s), KILL to crash it")
}

func parseSignal(name string) (syscall.Signal, error) {
	switch strings.ToUpper(strings.TrimPrefix(strings.ToUpper(name), "SIG")) {
	case "TERM":
		return syscall.SIGTERM, nil
	case "KILL":
		return syscall.SIGKILL, nil
	default:
		return 0, fmt.Errorf("--signal %q: use TERM or KILL", name)
	}
}
