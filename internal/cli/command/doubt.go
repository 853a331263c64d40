// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/policy/strategy"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/scaffold"
)

// WarnOf tells what the policies of a directory say that can hardly be meant: kinds that
// Kubernetes doesn't have, and rules that nothing asks; and which links among them lead to nothing.
func WarnOf(out io.Writer, tree directory.Tree, policies []directory.Located) {
	for _, p := range policies {
		for _, d := range doubtsOf(p.Definition) {
			file, line := p.Place("custom." + d.field)
			if d.row > 0 {
				file, line = cmp.Or(d.module, file), d.row
			}
			warn(out, tree.Path(file), line, d.message)
		}
	}
	for _, link := range tree.LinksToNothing() {
		warn(out, tree.Path(link.File), link.Line, link.Message)
	}
}

// WarnOfStrategies reports strategies that policies name and that aren't in their directory: they may be in the
// cluster.
func WarnOfStrategies(out io.Writer, tree directory.Tree, policies []directory.Located,
	strategies []directory.Strategy) {
	for _, p := range policies {
		name := strategy.Named(p.Definition)
		if name == v1alpha1.DefaultStrategy || slices.ContainsFunc(strategies, func(s directory.Strategy) bool {
			return s.Definition.Name == name
		}) {
			continue
		}
		file, line := p.Place("custom.remediation.strategyRef")
		warn(out, tree.Path(file), line, fmt.Sprintf("custom.remediation.strategyRef: the directory has no "+
			"RemediationStrategy %q: until the cluster has one, nothing is remediated", name))
	}
}

// WarnOfDocument is WarnOf for a policy that is written as a manifest.
func WarnOfDocument(out io.Writer, d *manifest.Document, p *v1alpha1.ClusterRegoPolicy) {
	for _, doubt := range doubtsOf(p) {
		message := doubt.message
		if doubt.row > 0 {
			message = fmt.Sprintf("%s:%d: %s", prose.OneLine(doubt.module), doubt.row, message)
		}
		warn(out, d.File, d.LineOf(doubt.pointer()), message)
	}
}

func warn(out io.Writer, file string, line int, message string) {
	fmt.Fprintln(out, "warning:", directory.Problem{File: file, Line: line, Message: message})
}

// doubt is what a policy says that can hardly be meant: at a field of its spec, or a row of a module.
type doubt struct {
	field, module string
	row           int
	message       string
}

// pointer is the JSON Pointer to the field in the policy's manifest.
func (d doubt) pointer() string {
	return "/spec/" + strings.NewReplacer(".", "/", "[", "/", "]", "").Replace(d.field)
}

func doubtsOf(p *v1alpha1.ClusterRegoPolicy) (found []doubt) {
	for i, resource := range p.Spec.Match.Kinds {
		for j, kind := range resource.Kinds {
			if message := doubtOf(resource.Groups(), kind); message != "" {
				found = append(found,
					doubt{field: fmt.Sprintf("match.kinds[%d].kinds[%d]", i, j), message: message})
			}
		}
	}
	for _, problem := range rego.Misnamed(p) {
		found = append(found, doubt{field: "rego.main", module: problem.File, row: problem.Row,
			message: problem.Message})
	}
	return found
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
