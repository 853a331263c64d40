package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func newBreakerResetCommand(flags *clusterFlags) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "reset NAME --reason REASON",
		Short: "Let a breaker that opened by itself start afresh",
		Long: `Reset closes a breaker and lets it forget the failures that it has counted, its
openings, and the demotion of its policy. Your user name is recorded with the reason.
What still gives it a reason to open opens it again at once.`,
		Example: `  evenkeel breaker reset policy-privileged-containers --reason "the registry is back"`,
		Args:    takesArguments(1, 1, "circuit breaker; see evenkeel breaker list"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(reason) == "" {
				return wronglyCalled(cmd, errors.New("--reason is missing: say why writing may go on"))
			}
			c, cb, err := flags.breaker(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			count := cb.Status.Resets + 1
			if err := patch(cmd.Context(), c, cb, map[string]any{"spec": map[string]any{
				"reset": map[string]any{"count": count, "reason": reason}}}); err != nil {
				return failure("reset circuit breaker "+cb.Name, err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "circuit breaker %s is being reset (reset %d); see: evenkeel breaker list\n", cb.Name, count)
			return err
		},
	}
	completes(cmd, flags, breakerNames)
	cmd.Flags().StringVar(&reason, "reason", "", "why writing may go on, for the record")
	return cmd
}
