// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/prose"
)

// writeGitHub writes a workflow command for each result, which GitHub shows as an
// annotation at its line, and a last line that sums up
// (https://docs.github.com/actions/reference/workflow-commands-for-github-actions).
func writeGitHub(w io.Writer, report *check.Report, _ Options) error {
	out := bufio.NewWriter(w)
	for i := range report.Results {
		r := &report.Results[i]
		for _, s := range sayings(r) {
			text := r.Title() + ": " + s.text
			if s.fix != "" {
				text += "\nfix: " + s.fix
			}
			if runbook := r.Policy.Spec.RunbookURL; runbook != "" {
				text += "\nrunbook: " + prose.OneLine(runbook)
			}
			fmt.Fprintf(out, "::%s %stitle=%s::%s\n", gitHubCommand(s.level), gitHubPlace(r, s.line),
				gitHubProperty(fmt.Sprintf("%s (%s)", r.Policy.Name, s.label)), gitHubText(text))
		}
	}
	fmt.Fprintln(out, sumUp(report))
	return out.Flush()
}

func gitHubCommand(l level) string {
	switch l {
	case levelError:
		return "error"
	case levelWarning:
		return "warning"
	case levelNote:
	}
	return "notice"
}

// gitHubPlace is empty where there is no file to annotate.
func gitHubPlace(r *check.Result, line int) string {
	if r.File == "" || r.File == manifest.Stdin {
		return ""
	}
	return fmt.Sprintf("file=%s,line=%d,", gitHubProperty(r.File), line)
}

func gitHubText(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

func gitHubProperty(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(gitHubText(text))
}
