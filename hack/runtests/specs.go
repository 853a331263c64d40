// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// reportsVariable names the folder that suites write their reports to (test/rig), each a
// file with the name of the suite's folder.
const reportsVariable = "EVENKEEL_REPORTS"

// suiteReport is what is read of Ginkgo's report of a suite.
type suiteReport struct {
	SuitePath   string
	SpecReports []specReport
}

type specReport struct {
	ContainerHierarchyTexts    []string
	LeafNodeType               string
	LeafNodeText               string
	State                      string
	RunTime                    time.Duration
	CapturedGinkgoWriterOutput string
	Failure                    struct {
		Message        string
		ForwardedPanic string
		Location       struct {
			FileName   string
			LineNumber int
		}
	}
}

// readReport reads the report of the suite of a package; nil when it wrote none.
func readReport(dir, pkg string) ([]specReport, error) {
	raw, err := os.ReadFile(filepath.Join(dir, path.Base(pkg)+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the report of %s: %w", pkg, err)
	}
	var suites []suiteReport
	if err := json.Unmarshal(raw, &suites); err != nil {
		return nil, fmt.Errorf("read the report of %s: %w", pkg, err)
	}
	var specs []specReport
	for _, suite := range suites {
		specs = append(specs, suite.SpecReports...)
	}
	return specs, nil
}

// name is the spec's, with that of all it stands in.
func (s specReport) name() string {
	text := s.LeafNodeText
	if text == "" {
		text = "[" + s.LeafNodeType + "]"
	}
	return strings.Join(
		append(s.ContainerHierarchyTexts[:len(s.ContainerHierarchyTexts):len(s.ContainerHierarchyTexts)], text), " ")
}

func (s specReport) failed() bool {
	switch s.State {
	case "failed", "panicked", "aborted", "interrupted", "timedout":
		return true
	}
	return false
}

// failure tells of a spec that failed: what was expected, where, and the end of what it
// noted, which has the manager's log.
func (s specReport) failure(test string) failure {
	at := fmt.Sprintf("%s:%d", path.Base(s.Failure.Location.FileName), s.Failure.Location.LineNumber)
	text := s.Failure.Message
	if s.Failure.ForwardedPanic != "" {
		text += "\n" + s.Failure.ForwardedPanic
	}
	if s.CapturedGinkgoWriterOutput != "" {
		text += "\nIt noted:\n" + s.CapturedGinkgoWriterOutput
	}
	return failure{test: test, about: fmt.Sprintf("%s, %s after %s", s.name(), at, round(s.RunTime)),
		message: bounded(text)}
}

// detail puts specs in the place of the suite that they belong to, among the failures
// and the timings of a package.
func (r *packageResult) detail(specs []specReport) {
	if len(specs) == 0 {
		return
	}
	var failures []failure
	for _, f := range r.failures {
		known := len(failures)
		for _, s := range specs {
			if f.suite && s.failed() {
				failures = append(failures, s.failure(f.test))
			}
		}
		if len(failures) == known {
			failures = append(failures, f)
		}
	}
	r.failures, r.timings = failures, nil
	r.names = slices.DeleteFunc(r.names, func(name string) bool { return name == r.suite })
	for _, s := range specs {
		r.timings = append(r.timings, timing{s.name(), s.RunTime})
		if s.ran() {
			r.names = append(r.names, nameIn(r.name, s.name()))
		}
	}
}
