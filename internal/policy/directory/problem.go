// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// Problem is one thing that is wrong with a file or directory, as for any files
// that are read here.
type Problem = manifest.Problem

// Error is all that is wrong with a directory. Problems is never empty, and
// sorted by file and line.
type Error = manifest.Error

// problems gathers what is wrong.
type problems struct {
	list []Problem
}

func (p *problems) add(file string, line int, format string, args ...any) {
	p.list = append(p.list, Problem{File: file, Line: line, Message: fmt.Sprintf(format, args...)})
}

// addCompileError adds each of the problems that Rego's compiler found; file
// stands for those without a place.
func (p *problems) addCompileError(file string, err error) {
	var compile *rego.CompileError
	if !errors.As(err, &compile) {
		p.add(file, 0, "%v", err)
		return
	}
	for _, problem := range compile.Problems {
		p.add(cmp.Or(problem.File, file), problem.Row, "%s", problem.Text())
	}
}

func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	slices.SortStableFunc(p.list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Message, b.Message))
	})
	return &Error{Problems: slices.Compact(p.list)}
}
