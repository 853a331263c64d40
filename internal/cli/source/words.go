// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/request"
	"evenkeel.dev/evenkeel/internal/permissions"
)

func newReconcileCommand(flags *sourceFlags) *cobra.Command {
	var awaits bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "reconcile NAME",
		Short: "Fetch the repository now",
		Long: `Reconcile fetches a source's repository now, not at its next interval. With
--wait it ends when that is done, with code 0 if the newest revision is then in
force, and with 1 otherwise.`,
		Example: "  evenkeel source reconcile platform --wait",
		Args:    command.TakesArguments(1, 1, "policy source; see evenkeel source list"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, src, err := flags.source(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if src.Spec.Suspend {
				return command.Exit(command.ExitFailed,
					fmt.Errorf("policy source %s is suspended: evenkeel source resume %s", src.Name, src.Name))
			}
			asked := time.Now().UTC().Format(time.RFC3339Nano)
			change := map[string]any{
				"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationReconcile: asked}}}
			if err := request.Patch(cmd.Context(), c, src, change); err != nil {
				return connect.Failure("annotate policy source "+src.Name, err)
			}
			if !awaits {
				_, err := fmt.Fprintf(cmd.OutOrStdout(),
					"policy source %s is to be reconciled; see evenkeel source get %s\n", src.Name, src.Name)
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "waiting for policy source %s\n", src.Name)
			if err := awaitLook(cmd.Context(), c, src, asked, timeout); err != nil {
				return err
			}
			return showSource(cmd.OutOrStdout(), src)
		},
	}
	cmd.Flags().BoolVar(&awaits, "wait", false, "wait until it is done")
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "how long to wait")
	return cmd
}

// awaitLook reads the source anew until the controller has acted upon what was
// asked.
func awaitLook(ctx context.Context, c client.Reader, src *v1alpha1.PolicySource, asked string,
	timeout time.Duration) error {
	err := wait.PollUntilContextTimeout(ctx, 250*time.Millisecond, timeout, true,
		func(ctx context.Context) (bool, error) {
			if err := c.Get(ctx, client.ObjectKeyFromObject(src), src); err != nil {
				return false, err
			}
			// A push may have asked again meanwhile.
			handled := src.Status.LastHandledReconcileAt
			return handled == asked || handled != "" && handled == src.Annotations[v1alpha1.AnnotationReconcile], nil
		})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return command.Exit(command.ExitFailure, fmt.Errorf("nobody has reconciled policy source %s within %s: is the "+
			"manager running? raise --timeout if the repository is this slow", src.Name, timeout))
	default:
		return connect.Failure("read policy source "+src.Name, err)
	}
}

func newSuspendCommand(flags *sourceFlags) *cobra.Command {
	return newSuspensionCommand(flags, "suspend", "Leave the repository and its policies alone", true,
		"is suspended: its policies stay in force as they are, and may be edited")
}

func newResumeCommand(flags *sourceFlags) *cobra.Command {
	return newSuspensionCommand(flags, "resume", "Follow the repository again", false,
		"follows its repository again; edits of its policies are restored")
}

func newSuspensionCommand(flags *sourceFlags, word, short string, suspend bool, done string) *cobra.Command {
	return &cobra.Command{
		Use:     word + " NAME",
		Short:   short,
		Long:    short + ", by spec.suspend of the PolicySource.",
		Example: "  evenkeel source " + word + " platform",
		Args:    command.TakesArguments(1, 1, "policy source; see evenkeel source list"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, src, err := flags.source(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := request.Patch(cmd.Context(), c, src,
				map[string]any{"spec": map[string]any{"suspend": suspend}}); err != nil {
				return unchanged(src.Name, err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "policy source %s %s\n", src.Name, done)
			return err
		},
	}
}

// unchanged says why a source couldn't be changed. A role that lets people patch it alone, as ours does, isn't enough.
func unchanged(name string, err error) error {
	if _, refused := permissions.RefusedBy(err); refused {
		return command.Exit(command.ExitFailure, fmt.Errorf("change policy source %s: %w; ask for the permissions to "+
			"patch and update policysources: anyone who controls a source controls the cluster, and no role of "+
			"Evenkeel's grants it", name, err))
	}
	return connect.Failure("change policy source "+name, err)
}
