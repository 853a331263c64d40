// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/hack/controlplane"
)

// runLine is what a test reads from `controlplane run` once it's ready.
type runLine struct {
	Kubeconfig string `json:"kubeconfig"`
	Dir        string `json:"dir"`
	Kubectl    string `json:"kubectl"`
	Server     string `json:"server"`
	// WebhookClientCA is the authority of the certificate that the API server shows
	// to webhooks.
	WebhookClientCA string `json:"webhookClientCA"`
}

func newRun() *cobra.Command {
	var dir string
	var nodes int
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run a control plane until stdin ends; for tests",
		Long: `Run starts a control plane, prints one line of JSON on stdout when it's ready,
and stops and removes everything when stdin reaches its end or on SIGINT or
SIGTERM. If it's killed, the components die with it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				temporary, err := os.MkdirTemp("", "evenkeel-controlplane-")
				if err != nil {
					return fmt.Errorf("make a folder for the instance: %w: give one with --dir", err)
				}
				dir = temporary
			}
			return run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), dir, nodes)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "folder of the instance (default: a temporary one)")
	addNodesFlag(cmd, &nodes)
	return cmd
}

func run(ctx context.Context, in io.Reader, out io.Writer, dir string, nodes int) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		_, _ = io.Copy(io.Discard, in) // only the end matters, however it comes
		end()
	}()
	options, _, err := prepare(ctx, dir, nodes)
	if err != nil {
		return err
	}
	return controlplane.Run(ctx, options, func(i *controlplane.Instance) error {
		line := runLine{Kubeconfig: i.Kubeconfig(), Dir: i.Dir(), Kubectl: i.Kubectl(), Server: i.Server(),
			WebhookClientCA: i.WebhookClientCA()}
		if err := json.NewEncoder(out).Encode(line); err != nil {
			return fmt.Errorf("say that the control plane is ready: %w", err)
		}
		return nil
	})
}
