// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/prose"
)

// Problem is one thing that is wrong with a file, or why it is left out.
type Problem struct {
	// File is the path as the user named it.
	File string
	// Line counts from 1; 0 when the problem is of the whole file.
	Line int
	// Message says what is wrong and what to do.
	Message string
}

// String is the problem as compilers print it: file:line: message.
func (p Problem) String() string {
	if p.Line == 0 {
		return prose.Shown(p.File) + ": " + prose.OneLine(p.Message)
	}
	return fmt.Sprintf("%s:%d: %s", prose.Shown(p.File), p.Line, prose.OneLine(p.Message))
}

// Error is all that is wrong with the files. Problems is never empty, and sorted
// by file and line.
type Error struct {
	Problems []Problem
}

// Error lists the problems, one a line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// errorOf is nil when there is no problem.
func errorOf(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return &Error{Problems: problems}
}
