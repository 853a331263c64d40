// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"time"
)

// event is one line of `go test -json` (see `go doc test2json`).
type event struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Elapsed     float64
	Output      string
	FailedBuild string
}

// counts are results of tests.
type counts struct{ passed, failed, skipped int }

func (c *counts) add(other counts) {
	c.passed += other.passed
	c.failed += other.failed
	c.skipped += other.skipped
}

// testState is what is known of one test.
type testState struct {
	action  string
	parent  bool
	elapsed time.Duration
	output  strings.Builder
	// specs are the results that a Ginkgo suite reports of itself.
	specs *counts
}

// packageState is what is known of one package.
type packageState struct {
	tests  map[string]*testState
	output strings.Builder
}

// packageResult is one finished package.
type packageResult struct {
	name    string
	counts  counts
	failed  bool
	elapsed time.Duration
	// failures are what failed, timings how long each test took, and names those of the tests that ran.
	failures []failure
	timings  []timing
	names    []string
	// suite is the name of the test that runs a suite of specs, as names has it; empty: there is none.
	suite string
}

func (r *packageResult) outcome() outcome {
	return outcome{counts: r.counts, failures: r.failures, timings: r.timings, names: r.names}
}

// tally turns the events of one `go test` into results. Leaves are counted: a
// test with subtests counts only if it fails by itself.
type tally struct {
	packages map[string]*packageState
	builds   map[string]*strings.Builder
	total    counts
	// ended is the number of tests that ended, subtests too.
	ended int
}

func newTally() *tally {
	return &tally{packages: map[string]*packageState{}, builds: map[string]*strings.Builder{}}
}

// observe takes one event, and returns the result of a package that ended with it.
func (t *tally) observe(e event) (packageResult, bool) {
	if e.Action == "build-output" {
		build := t.builds[e.ImportPath]
		if build == nil {
			build = &strings.Builder{}
			t.builds[e.ImportPath] = build
		}
		build.WriteString(e.Output)
		return packageResult{}, false
	}
	if e.Package == "" {
		return packageResult{}, false
	}
	p := t.packages[e.Package]
	if p == nil {
		p = &packageState{tests: map[string]*testState{}}
		t.packages[e.Package] = p
	}
	if e.Test != "" {
		t.observeTest(p, e)
		return packageResult{}, false
	}
	switch e.Action {
	case "output":
		p.output.WriteString(e.Output)
	case "pass", "fail", "skip":
		return t.finish(p, e), true
	}
	return packageResult{}, false
}

func (t *tally) observeTest(p *packageState, e event) {
	test := p.tests[e.Test]
	if test == nil {
		test = &testState{}
		p.tests[e.Test] = test
		if i := strings.LastIndex(e.Test, "/"); i >= 0 {
			markParents(p, e.Test[:i])
		}
	}
	switch e.Action {
	case "output":
		test.output.WriteString(e.Output)
		if specs, ok := ginkgoSummary(e.Output); ok {
			test.specs = &specs
		}
	case "pass", "fail", "skip":
		test.action, test.elapsed = e.Action, seconds(e.Elapsed)
		t.ended++
	}
}

// markParents marks the tests that the named one stands below. A subtest's own
// name may hold a slash too; what isn't a test is left out.
func markParents(p *packageState, name string) {
	for name != "" {
		if parent := p.tests[name]; parent != nil {
			parent.parent = true
		}
		i := strings.LastIndex(name, "/")
		if i < 0 {
			return
		}
		name = name[:i]
	}
}

func (t *tally) finish(p *packageState, e event) packageResult {
	r := packageResult{name: e.Package, failed: e.Action == "fail", elapsed: seconds(e.Elapsed)}
	if build := t.builds[e.FailedBuild]; build != nil {
		r.failures = append(r.failures,
			failure{test: e.Package, about: "it doesn't build", message: bounded(build.String())})
	}
	for _, name := range sortedNames(p.tests) {
		r.take(name, p.tests[name])
	}
	if r.failed && r.counts.failed == 0 {
		r.counts.failed = 1
		for _, name := range sortedNames(p.tests) {
			if p.tests[name].action == "fail" {
				r.failures = append(r.failures, p.tests[name].failure(name, r.name))
			}
		}
	}
	if r.failed && len(r.failures) == 0 {
		r.failures = append(r.failures,
			failure{test: r.name, about: "no test of it failed", message: bounded(p.output.String())})
	}
	t.total.add(r.counts)
	return r
}

// take adds one test of the package.
func (r *packageResult) take(name string, test *testState) {
	one := test.count(r.failed)
	r.counts.add(one)
	if one.failed > 0 {
		r.failures = append(r.failures, test.failure(name, r.name))
	}
	if test.specs != nil {
		r.suite = nameIn(r.name, name)
	}
	if test.parent {
		return
	}
	r.timings = append(r.timings, timing{name, test.elapsed})
	if test.action == "pass" || test.action == "fail" {
		r.names = append(r.names, nameIn(r.name, name))
	}
}

func (s *testState) failure(name, in string) failure {
	f := failure{test: name, about: in + ", " + round(s.elapsed), suite: s.specs != nil,
		message: bounded(s.output.String())}
	if s.action == "" {
		f.about = in + ", it never ended"
	}
	return f
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// count gives the results that one test stands for.
func (s *testState) count(packageFailed bool) counts {
	if s.specs != nil {
		specs := *s.specs
		if s.action != "pass" && specs.failed == 0 {
			specs.failed = 1
		}
		return specs
	}
	if s.parent {
		return counts{} // its leaves are counted; finish sees to a parent that fails alone
	}
	switch s.action {
	case "pass":
		return counts{passed: 1}
	case "skip":
		return counts{skipped: 1}
	case "fail":
		return counts{failed: 1}
	}
	if packageFailed {
		return counts{failed: 1} // it began and never ended: a panic or the time limit
	}
	return counts{}
}
