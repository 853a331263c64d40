// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/request"
)

func newResetCommand(flags *connect.Flags) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "reset NAME --reason REASON",
		Short: "Reset a breaker that opened automatically",
		Long: `Reset closes a breaker and lets it forget the failures that it has counted, its
openings, and the demotion of its policy. It needs the verb reset on the breaker; your
user name is recorded with the reason.
What still gives it a reason to open opens it again at once.`,
		Example: `  evenkeel breaker reset policy-privileged-containers --reason "the registry is back"`,
		Args:    command.TakesArguments(1, 1, "circuit breaker; see evenkeel breaker list"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(reason) == "" {
				return command.WronglyCalled(cmd, errors.New("--reason is missing: say why writing may go on"))
			}
			c, err := flags.Client()
			if err != nil {
				return err
			}
			cb, err := findBreaker(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			if err := request.Patch(cmd.Context(), c, cb,
				request.Spec("resetToken", request.NewToken(), reason)); err != nil {
				return connect.Failure("reset circuit breaker "+cb.Name, err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "circuit breaker %s is being reset; see: evenkeel breaker list\n",
				cb.Name)
			return err
		},
	}
	connect.Completes(cmd, flags, breakerNames)
	cmd.Flags().StringVar(&reason, "reason", "", "why writing may go on, for the record")
	return cmd
}
