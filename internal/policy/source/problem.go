package source

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// Problem is one thing that is wrong with a file or directory.
type Problem struct {
	// File is the path in the file system that was read.
	File string
	// Line counts from 1; 0 when the problem is of the whole file or directory.
	Line int
	// Message says what is wrong and what to do.
	Message string
}

// String is the problem as compilers print it: file:line: message.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
}

// Error is all that is wrong with a directory. Problems is never empty, and
// sorted by file and line.
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
		p.add(cmp.Or(problem.File, file), problem.Row, "%s", problem.Message)
	}
}

// err is nil while nothing is wrong.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	slices.SortStableFunc(p.list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Message, b.Message))
	})
	return &Error{Problems: slices.Compact(p.list)}
}
