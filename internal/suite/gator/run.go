// SPDX-License-Identifier: Apache-2.0

package gator

import (
	"context"
	"errors"
	"io/fs"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/template"
	reports "evenkeel.dev/evenkeel/internal/suite"
)

// Run runs the suites at and below root, and records the outcome of each case, whose name is
// TEST/CASE. It gives the number of suites, and fails when one can't be read.
func Run(ctx context.Context, fsys fs.FS, root string, opts reports.Options, report *reports.Report) (int, error) {
	found, err := suites(fsys, root)
	if err != nil {
		return 0, err
	}
	r := &runner{fsys: fsys, options: opts, report: report}
	for _, s := range found {
		for i := range s.Tests {
			t := &s.Tests[i]
			t.Skip = t.Skip || s.Skip
			r.test(ctx, s, t)
		}
	}
	return len(found), nil
}

type runner struct {
	fsys    fs.FS
	options reports.Options
	report  *reports.Report
}

// test runs the cases of a test, or has its constraint refused. A constraint that can't be tested fails it once.
func (r *runner) test(ctx context.Context, s *suite, t *test) {
	if t.Invalid {
		if r.runs(t.Name, t.Skip) {
			r.report.Record(r.invalid(s, t))
		}
		return
	}
	cases, asked := r.chosen(t)
	if !asked {
		return
	}
	by, err := newJudge(r.fsys, s.file, t, r.options.Engine)
	if err != nil {
		r.report.Record([]reports.Failure{{File: s.file, Subject: t.Name, Got: err.Error(),
			Expected: "a constraint that can be tested"}})
		return
	}
	for _, c := range cases {
		r.report.Record(r.prove(ctx, s, c, by, reports.Failure{File: s.file, Subject: t.Name + "/" + c.Name}))
	}
}

// chosen are the cases of a test that are to be run. Where there are none it may still be asked whether its
// constraint can be tested: gator fails a test of which that can't.
func (r *runner) chosen(t *test) (cases []*testCase, asked bool) {
	asked = !t.Skip && r.options.Runs(t.Name)
	for i := range t.Cases {
		c := &t.Cases[i]
		name := t.Name + "/" + c.Name
		if r.runs(name, t.Skip || c.Skip) {
			cases = append(cases, c)
		}
		asked = asked || !t.Skip && r.options.Runs(name)
	}
	return cases, asked
}

// runs says whether a test or a case is to be run, and counts those that are to be skipped.
func (r *runner) runs(name string, skip bool) bool {
	if skip {
		r.report.Skipped++
	}
	return !skip && r.options.Runs(name)
}

// invalid says what is wrong with a test of a constraint that must not fit its template.
func (r *runner) invalid(s *suite, t *test) []reports.Failure {
	_, err := newJudge(r.fsys, s.file, t, r.options.Engine)
	var unfit *template.ParametersError
	if errors.As(err, &unfit) {
		return nil
	}
	got := "it fits"
	if err != nil {
		got = err.Error()
	}
	return []reports.Failure{{File: s.file, Subject: t.Name, Got: got,
		Expected: "a constraint that doesn't fit the template's schema"}}
}

func (r *runner) prove(ctx context.Context, s *suite, c *testCase, by *judge,
	failure reports.Failure) []reports.Failure {
	failure.Expected = "a case that can be run"
	others, err := c.others(r.fsys, s.file)
	var request *policy.Request
	if err == nil {
		request, err = c.request(r.fsys, s.file, others)
	}
	if err != nil {
		failure.Got = err.Error()
		return []reports.Failure{failure}
	}
	found, err := by.violations(ctx, request, others)
	if err != nil {
		failure.Expected, failure.Got = "a verdict", err.Error()
		return []reports.Failure{failure}
	}
	expected, err := hold(c.Assertions, found)
	switch {
	case err != nil:
		failure.Got = err.Error()
	case expected != "":
		failure.Expected, failure.Got = expected, told(found)
	default:
		return nil
	}
	return []reports.Failure{failure}
}
