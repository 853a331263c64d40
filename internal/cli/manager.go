// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"flag"

	"github.com/spf13/cobra"
	"go.uber.org/zap/zapcore"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/manager"
)

func newManagerCommand() *cobra.Command {
	o := &manager.Options{}
	logs := zap.Options{TimeEncoder: zapcore.ISO8601TimeEncoder}
	cmd := &cobra.Command{
		Use:   "manager",
		Short: "Run the controller: admission webhook, scan and remediation",
		Long: `Manager runs the controller. Every replica answers admission requests; one of
them, the leader, scans the cluster and rolls fixes out. It reaches the cluster
by --kubeconfig, the environment variable KUBECONFIG, or its ServiceAccount.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return command.Exit(command.ExitUsage, err)
			}
			ctrl.SetLogger(zap.New(zap.UseFlagOptions(&logs)))
			return manager.Run(cmd.Context(), o)
		},
	}
	o.AddFlags(cmd.Flags())
	goFlags := flag.NewFlagSet("manager", flag.ContinueOnError)
	logs.BindFlags(goFlags)
	if kubeconfig := flag.Lookup("kubeconfig"); kubeconfig != nil {
		goFlags.Var(kubeconfig.Value, kubeconfig.Name, kubeconfig.Usage)
	}
	cmd.Flags().AddGoFlagSet(goFlags)
	return cmd
}
