// SPDX-License-Identifier: Apache-2.0

package format

import (
	"io"
	"slices"
	"strings"

	"github.com/jstemmer/go-junit-report/v2/junit"

	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/prose"
)

// writeJUnit writes a suite for each file, or each namespace of live objects, and
// in it a case for each object and policy that concerns it. Clean ones are there
// as far as the report kept them.
func writeJUnit(w io.Writer, report *check.Report, _ Options) error {
	results := slices.Concat(report.Results, report.Clean)
	check.Sort(results)
	suites := junit.Testsuites{Name: "evenkeel"}
	for start := 0; start < len(results); {
		name := suiteOf(&results[start])
		suite := junit.Testsuite{Name: name, ID: len(suites.Suites), File: results[start].File, Time: "0"}
		for start < len(results) && suiteOf(&results[start]) == name {
			suite.AddTestcase(caseOf(&results[start]))
			start++
		}
		suites.AddSuite(suite)
	}
	if _, err := io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"); err != nil {
		return err
	}
	return suites.WriteXML(w)
}

func suiteOf(r *check.Result) string {
	if r.File != "" {
		return r.File
	}
	if namespace := object(r).GetNamespace(); namespace != "" {
		return "namespace " + prose.OneLine(namespace)
	}
	return "cluster"
}

// caseOf is one object judged by one policy. Violations that are only recorded are
// told, and don't fail; those that are waived count as skipped.
func caseOf(r *check.Result) junit.Testcase {
	test := junit.Testcase{Name: r.Policy.Name, Classname: r.Title(), Time: "0"}
	said := sayings(r)
	if len(said) == 0 {
		return test
	}
	outcome := &junit.Result{Message: said[0].text, Type: said[0].label, Data: caseText(r, said)}
	switch {
	case r.Err != nil:
		test.Error = outcome
	case r.Counts():
		test.Failure = outcome
	case r.Waived != nil:
		outcome.Message = "waived by " + r.Waived.String() + ": " + prose.OneLine(r.Waived.Reason)
		test.Skipped = outcome
	default:
		test.SystemOut = &junit.Output{Data: outcome.Data}
	}
	return test
}

func caseText(r *check.Result, said []saying) string {
	var lines []string
	for _, s := range said {
		line := s.label + ": " + s.text
		if r.File != "" {
			line = place(r, s.line) + ": " + line
		}
		lines = append(lines, line)
		if s.fix != "" {
			lines = append(lines, "fix: "+s.fix)
		}
	}
	if runbook := r.Policy.Spec.RunbookURL; runbook != "" {
		lines = append(lines, "runbook: "+prose.OneLine(runbook))
	}
	if r.Fix != "" {
		for line := range strings.Lines(r.Fix) {
			lines = append(lines, prose.Lines(strings.TrimRight(line, "\n")))
		}
	}
	return strings.Join(lines, "\n")
}
