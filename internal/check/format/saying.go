// SPDX-License-Identifier: Apache-2.0

package format

import (
	"fmt"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/prose"
)

// saying is one thing that a policy says of an object, for formats that list
// them one by one.
type saying struct {
	level level
	// label says what weight it has, for people: a severity, Warning or Error.
	label string
	// message is what the rule says, text the same with why it may not count.
	message, text string
	path          string
	line          int
	// fix is told once, with the first violation.
	fix string
}

// level is the weight that machines give a saying.
type level string

const (
	levelError   level = "error"
	levelWarning level = "warning"
	levelNote    level = "note"
)

// levelOf is the level of a policy's violations: its severity says it, unless the
// violations are waived or only recorded.
func levelOf(r *check.Result) level {
	if !r.Counts() {
		return levelNote
	}
	return severityLevel(r.Policy.Spec.Severity)
}

func severityLevel(severity v1alpha1.Severity) level {
	switch severity {
	case v1alpha1.SeverityCritical, v1alpha1.SeverityHigh:
		return levelError
	case v1alpha1.SeverityMedium:
		return levelWarning
	case v1alpha1.SeverityLow:
	}
	return levelNote
}

// sayings are all that the result's policy says of its object.
func sayings(r *check.Result) []saying {
	var out []saying
	if r.Err != nil {
		text := strings.TrimPrefix(r.Err.Error(), "policy "+r.Policy.Name+": ")
		what := "it couldn't be judged: "
		if r.FixFailed {
			what = "its fix can't be known: "
		}
		out = append(out, saying{level: levelError, label: labelError, text: what + prose.OneLine(text), line: r.Line})
	}
	for i, v := range r.Violations {
		s := saying{level: levelOf(r), label: string(r.Policy.Spec.Severity), message: v.Message,
			text: prose.OneLine(v.Message) + suffix(r), path: v.Path, line: r.LineAt(v.Path)}
		if i == 0 && r.Waived == nil {
			s.fix = hint(r)
		}
		out = append(out, s)
	}
	for _, v := range r.Warnings {
		out = append(out, saying{level: levelWarning, label: labelWarning, message: v.Message,
			text: prose.OneLine(v.Message), path: v.Path, line: r.LineAt(v.Path)})
	}
	return out
}

// suffix says why violations don't count.
func suffix(r *check.Result) string {
	switch {
	case r.Waived != nil:
		return fmt.Sprintf(" (waived by %s)", r.Waived)
	case r.Policy.Spec.Admission.Action == v1alpha1.AdmissionAudit:
		return " (dry run: only recorded)"
	}
	return ""
}

// The labels that aren't severities.
const (
	labelError   = "Error"
	labelWarning = "Warning"
)
