// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"fmt"
	"io"

	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/scaffold"
)

// WarnOf tells what the policies of a directory say that can hardly be meant: kinds that
// Kubernetes doesn't have, and rules that nothing asks.
func WarnOf(out io.Writer, tree directory.Tree, policies []directory.Located) {
	for _, p := range policies {
		for i, resource := range p.Definition.Spec.Match.Resources {
			for j, kind := range resource.Kinds {
				file, line := p.Place(fmt.Sprintf("custom.match.resources[%d].kinds[%d]", i, j))
				if message := doubtOf(resource.APIGroups, kind); message != "" {
					fmt.Fprintln(out, "warning:",
						directory.Problem{File: tree.Path(file), Line: line, Message: message})
				}
			}
		}
		for _, problem := range rego.Misnamed(p.Definition) {
			file, _ := p.Place("")
			fmt.Fprintln(out, "warning:", directory.Problem{File: tree.Path(cmp.Or(problem.File, file)),
				Line: problem.Row, Message: problem.Message})
		}
	}
}

// doubtOf says that none of some groups is known to have a kind, and all are known.
func doubtOf(groups []string, kind string) string {
	meant := ""
	for _, group := range groups {
		unknown, near := scaffold.Unknown(group, kind)
		if !unknown {
			return ""
		}
		meant = cmp.Or(meant, near)
	}
	if len(groups) == 0 {
		return ""
	}
	message := fmt.Sprintf("Kubernetes has no kind %q in the groups %q: the policy would judge nothing by it", kind,
		groups)
	if meant != "" {
		message += "; did you mean " + meant + "?"
	}
	return message
}
