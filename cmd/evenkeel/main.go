// Command evenkeel is the policy controller and its command line: one binary.
package main

import (
	"errors"
	"fmt"
	"os"
	_ "time/tzdata" // maintenance windows name time zones, and the image has no zone files

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	root := newRootCommand()
	calledAs(root, os.Args[0])
	err := root.ExecuteContext(ctrl.SetupSignalHandler())
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "evenkeel:", err)
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		os.Exit(coded.ExitCode())
	}
	os.Exit(1)
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "evenkeel",
		Short: "Gate, scan and safely mend a Kubernetes fleet by policies in Rego",
		Long: `Evenkeel enforces policies written in Rego: at admission, on what already lives
in the cluster, and by putting violations right through a verified rollout.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	takesCommand(root)
	root.AddCommand(newManagerCommand(), newCheckCommand(), newScanCommand(), newPlanCommand(), newRBACCommand(), newBuildCommand(), newRunbooksCommand(), newTestCommand(),
		newRolloutCommand(), newBreakerCommand(), newSourceCommand(), newVersionCommand())
	root.AddCommand(newNewCommand(), newFixCommand(), newMigrateCommand())
	root.AddCommand(newDoctorCommand(), newExplainCommand())
	root.AddCommand(newDocsCommand())
	addCompletion(root)
	return root
}
