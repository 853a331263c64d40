// SPDX-License-Identifier: Apache-2.0

package authoring

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/output"
	"evenkeel.dev/evenkeel/internal/policy/directory"
)

func newBuildCommand() *cobra.Command {
	var file string
	var rego command.RegoTree
	cmd := &cobra.Command{
		Use:   "build DIR|- [-o FILE]",
		Short: "Print the policies of a directory as ClusterRegoPolicy objects",
		Long: `Build reads every policy at and below DIR and prints it as a ClusterRegoPolicy,
ready for kubectl apply. It also prints the RemediationStrategy objects in YAML files
there, which policies name in remediation.strategyRef. It reads strictly: when
anything is wrong it prints all that is wrong as file:line: message, one a line, and
ends with code 1.

With - it is a KRM function, for kustomize and kpt: it reads a ResourceList, whose
functionConfig names the directory, and prints it with the policies in it.`,
		Example: `  evenkeel build policies | kubectl apply -f -
  evenkeel build policies/security -o security.yaml
  kustomize build --enable-alpha-plugins --enable-exec overlays/prod`,
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := built(&rego, args[0], cmd.InOrStdin(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if file == "" || file == "-" {
				_, err = cmd.OutOrStdout().Write(text)
			} else {
				err = output.WriteFile(file, text)
			}
			if err != nil {
				return command.Exit(command.ExitFailure, fmt.Errorf("write the policies: %w", err))
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "file to write to (default: standard output)")
	rego.AddFlags(cmd.Flags())
	command.TakesDirectory(cmd)
	return cmd
}

func built(rego *command.RegoTree, dir string, stdin io.Reader, stderr io.Writer) ([]byte, error) {
	if dir != "-" {
		return build(rego, dir, stderr)
	}
	var list bytes.Buffer
	if err := runFunction(stdin, &list); err != nil {
		return nil, command.Exit(command.ExitFailed, err)
	}
	return list.Bytes(), nil
}

func build(rego *command.RegoTree, dir string, stderr io.Writer) ([]byte, error) {
	tree, err := rego.Open(dir)
	if err != nil {
		return nil, err
	}
	located, strategies, err := directory.LoadAll(tree.FS, tree.Root)
	if err != nil {
		return nil, command.Exit(command.ExitFailed, tree.Located(err))
	}
	command.WarnOf(stderr, tree, located)
	command.WarnOfStrategies(stderr, tree, located, strategies)
	text, err := directory.Render(objectsOf(located, strategies))
	if err != nil {
		return nil, command.Exit(command.ExitFailed, err)
	}
	return text, nil
}

// objectsOf are the strategies, and then the policies that may name them.
func objectsOf(policies []directory.Located, strategies []directory.Strategy) []metav1.Object {
	var objects []metav1.Object
	for _, s := range strategies {
		objects = append(objects, s.Definition)
	}
	for _, p := range policies {
		objects = append(objects, p.Definition)
	}
	return objects
}
