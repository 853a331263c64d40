// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// pluginName is the name by which kubectl finds the program as a plugin.
const pluginName = "kubectl-evenkeel"

// calledAs makes help and errors say "kubectl evenkeel" when the program was
// called by its name as a plugin.
func calledAs(root *cobra.Command, program string) {
	if strings.TrimSuffix(filepath.Base(program), ".exe") != pluginName {
		return
	}
	if root.Annotations == nil {
		root.Annotations = map[string]string{}
	}
	root.Annotations[cobra.CommandDisplayNameAnnotation] = "kubectl evenkeel"
	ours := regexp.MustCompile(`(?m)(^ *|\| )evenkeel `)
	var rename func(*cobra.Command)
	rename = func(cmd *cobra.Command) {
		cmd.Example = ours.ReplaceAllString(cmd.Example, "${1}kubectl evenkeel ")
		for _, sub := range cmd.Commands() {
			rename(sub)
		}
	}
	rename(root)
}
