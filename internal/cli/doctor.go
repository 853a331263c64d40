// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/config/crd"
	"evenkeel.dev/evenkeel/config/rbac"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/output"
	"evenkeel.dev/evenkeel/internal/cli/terminal"
	"evenkeel.dev/evenkeel/internal/diagnose"
	"evenkeel.dev/evenkeel/internal/display"
	"evenkeel.dev/evenkeel/internal/prose"
)

// doctorOptions are the flags of doctor.
type doctorOptions struct {
	namespace, serviceAccount string
	output                    *output.Flag
}

func newDoctorCommand() *cobra.Command {
	o := &doctorOptions{}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check an installation, and say what to do about what is wrong",
		Long: `Doctor checks an installation from outside: the API server and its clock, the
kinds, the manager and its leader, the webhooks, their certificate and whether they
judge, policies, sources, scans, permissions, opt-outs without effect, breakers, rollouts
and alert delivery. It changes nothing: what it sends through admission is a dry run.

The checks stand in the order in which things depend on each other: fix the first
that fails first. It ends with code 0 when nothing failed, with 1 when something did,
with 2 when it was called wrongly, and with 3 when something couldn't be checked. What
you may not read and is shown otherwise is skipped, and said to be: ClusterRole
evenkeel-operator grants what the others need.`,
		Example: `  evenkeel doctor
  evenkeel doctor -o json | jq '.[] | select(.status == "fail")'`,
		Args: command.TakesArguments(0, 0, ""),
	}
	flags := connect.TakesCluster(cmd)
	o.output = output.Takes(cmd, output.JSON, output.YAML)
	cmd.Flags().StringVar(&o.namespace, "controller-namespace", "evenkeel-system", "the manager's own namespace")
	cmd.Flags().StringVar(&o.serviceAccount, "service-account", "evenkeel",
		"the ServiceAccount in it that the manager runs as")
	connect.CompletesFlag(cmd, "controller-namespace", flags, connect.NamespaceNames)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := o.output.Check(cmd); err != nil {
			return err
		}
		in, err := o.installation(flags)
		if err != nil {
			return err
		}
		return o.run(cmd, in)
	}
	return cmd
}

func (o *doctorOptions) run(cmd *cobra.Command, in *diagnose.Installation) error {
	screen := terminal.NewScreen(cmd.OutOrStdout())
	var tell func(diagnose.Finding)
	if o.output.Format == output.Table {
		tell = func(f diagnose.Finding) { printFinding(screen.Out, screen.Style, f) }
	}
	findings := diagnose.Run(cmd.Context(), in, tell)
	if err := o.output.Data(screen.Out, findings, func(io.Writer) error { return nil }); err != nil {
		return err
	}
	switch diagnose.Worst(findings) {
	case diagnose.Fail:
		return command.Exit(command.ExitFailed, errors.New("something is wrong: see the first check that failed"))
	case diagnose.Unknown:
		return command.Exit(command.ExitFailure, errors.New("not everything could be checked: see above"))
	case diagnose.OK, diagnose.Warn, diagnose.Skipped:
	}
	return nil
}

// printFinding prints a finding as soon as it is there.
func printFinding(out io.Writer, style display.Style, f diagnose.Finding) {
	paint := map[diagnose.Status]func(string) string{diagnose.OK: style.Good, diagnose.Warn: style.Busy,
		diagnose.Fail: style.Bad, diagnose.Unknown: style.Bad, diagnose.Skipped: style.Faint}[f.Status]
	fmt.Fprintf(out, "%s  %-14s  %s\n", paint(fmt.Sprintf("%-7s", f.Status)), f.Check, oneLine(f.Message))
	if f.Do != "" {
		fmt.Fprintf(out, "%-7s  %-14s  → %s\n", "", "", oneLine(f.Do))
	}
}

// oneLine fits a line of a terminal: what others have written may be in it.
func oneLine(text string) string { return strings.Join(strings.Fields(prose.OneLine(text)), " ") }

// installation connects to the cluster with all kinds that are looked at.
func (o *doctorOptions) installation(flags *connect.Flags) (*diagnose.Installation, error) {
	config, err := flags.Config()
	if err != nil {
		return nil, err
	}
	// The probes provoke them.
	config.WarningHandler = rest.NoWarnings{}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme,
		v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	doer, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, command.Exit(command.ExitFailure, fmt.Errorf("connect to the cluster: %w", err))
	}
	c, err := client.New(config, client.Options{Scheme: scheme, HTTPClient: doer})
	if err != nil {
		return nil, command.Exit(command.ExitFailure, fmt.Errorf("connect to the cluster: %w", err))
	}
	kinds, err := crd.Definitions()
	if err != nil {
		return nil, err
	}
	policies, bindings, err := rbac.AdmissionPolicies(rbac.Requests)
	if err != nil {
		return nil, err
	}
	keyPolicies, keyBindings, err := rbac.AdmissionPolicies(rbac.Keys)
	if err != nil {
		return nil, err
	}
	return &diagnose.Installation{Client: c, Mapper: c.RESTMapper(), HTTP: doer, Server: config.Host,
		Clock:     clock.RealClock{},
		Namespace: o.namespace, ServiceAccount: o.serviceAccount,
		Kinds: kinds, RequestPolicies: policies, RequestBindings: bindings, KeyPolicies: keyPolicies,
		KeyBindings: keyBindings}, nil
}
