// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/hack/controlplane"
	"evenkeel.dev/evenkeel/hack/controlplane/internal/progress"
	"evenkeel.dev/evenkeel/hack/controlplane/internal/toolchain"
)

func newUp() *cobra.Command {
	var at place
	var nodes int
	var kubectl string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a control plane in the background",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := at.resolve()
			if err != nil {
				return err
			}
			return up(cmd.Context(), cmd.OutOrStdout(), dir, nodes, kubectl)
		},
	}
	at.addFlags(cmd)
	addNodesFlag(cmd, &nodes)
	cmd.Flags().StringVar(&kubectl, "kubectl", "",
		"where to put a link to the kubectl of the server's version (default: nowhere)")
	return cmd
}

func newDown() *cobra.Command {
	var at place
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop a control plane and remove its data",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := at.resolve()
			if err != nil {
				return err
			}
			began := time.Now()
			stopped, err := controlplane.Stop(cmd.Context(), dir)
			if err != nil {
				return err
			}
			if !stopped {
				fmt.Fprintf(cmd.OutOrStdout(), "No control plane in %s\n", dir)
				return nil
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Control plane in %s stopped and removed in %s\n", dir,
				progress.Elapsed(time.Since(began)))
			return nil
		},
	}
	at.addFlags(cmd)
	return cmd
}

func addNodesFlag(cmd *cobra.Command, nodes *int) {
	cmd.Flags().IntVar(nodes, "nodes", 3, "number of fake nodes")
}

// prepare builds what is missing and says what to start.
func prepare(ctx context.Context, dir string, nodes int) (controlplane.Options, toolchain.Versions, error) {
	if nodes < 1 || nodes > 1000 {
		return controlplane.Options{}, toolchain.Versions{},
			fmt.Errorf("--nodes %d: use a number from 1 to 1000", nodes)
	}
	tools, err := locateToolchain()
	if err != nil {
		return controlplane.Options{}, toolchain.Versions{}, err
	}
	show := newPrinter()
	if _, err := tools.Build(ctx, show); err != nil {
		return controlplane.Options{}, toolchain.Versions{}, err
	}
	return controlplane.Options{Dir: dir, Bin: tools.Bin(), Nodes: nodes, Show: show}, tools.Versions, nil
}

func up(ctx context.Context, out io.Writer, dir string, nodes int, kubectl string) error {
	options, versions, err := prepare(ctx, dir, nodes)
	if err != nil {
		return err
	}
	began := time.Now()
	instance, fresh, err := controlplane.Start(ctx, options)
	if err != nil {
		return err
	}
	state := "already running"
	if fresh {
		state = "ready in " + progress.Elapsed(time.Since(began))
	}
	fmt.Fprintf(out, "Control plane %s: Kubernetes %s with %d nodes at %s\n", state, versions.Kubernetes,
		instance.Nodes(), instance.Server())
	command := instance.Kubectl()
	if kubectl != "" {
		if err := link(command, kubectl); err != nil {
			return err
		}
		command = kubectl
	}
	fmt.Fprintf(out, "  export KUBECONFIG=%s\n  %s get nodes\n", instance.Kubeconfig(), command)
	if instance.Nodes() != nodes {
		fmt.Fprintf(out, "  (it keeps its %d nodes; for %d, bring it down first)\n", instance.Nodes(), nodes)
	}
	return nil
}

// link makes path lead to target, in the place of what led elsewhere.
func link(target, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make a link to kubectl: %w", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("make a link to kubectl: %w", err)
	}
	if err := os.Symlink(target, path); err != nil {
		return fmt.Errorf("make a link to kubectl: %w", err)
	}
	return nil
}
