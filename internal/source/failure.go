// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/internal/prose"
)

// The bounds of what a status says.
const (
	maxMessage = 1024
	maxFile    = 1024
)

// failure is why a pass didn't bring the newest revision into force. The policies
// in force stay as they are.
type failure struct {
	// reason is one of the Ready condition's.
	reason string
	// message says what is wrong and what to do.
	message string
	// problems are the places, where there are any.
	problems []v1alpha1.SourceProblem
	// stalled says that only a person can fix it. It is looked at again at the
	// interval all the same; anything else is tried again soon.
	stalled bool
	// cause is what it comes from, where somebody asks for that.
	cause error
}

func (f *failure) Error() string { return f.message }

func (f *failure) Unwrap() error { return f.cause }

// onlyProblems says that nothing is wrong but the problems, of which the message tells.
func (f *failure) onlyProblems() bool {
	return f.stalled && len(f.problems) > 0 && f.message == withProblems(f.reason, f.problems).message
}

// and is a failure with another one, whose problems are added unless they are told
// already. Its message follows the lead, unless it says nothing but those.
func (f *failure) and(lead string, other *failure) *failure {
	if f == nil {
		return other
	}
	both := *f
	both.problems = slices.Clip(f.problems)
	for _, p := range other.problems {
		if !slices.Contains(f.problems, p) {
			both.problems = append(both.problems, p)
		}
	}
	if len(both.problems) == len(f.problems) && other.onlyProblems() {
		return f
	}
	both.message = fmt.Sprintf("%s; %s%s", strings.TrimRight(prose.Shorten(f.message, maxMessage*3/4), "."), lead,
		other.message)
	both.stalled = f.stalled && other.stalled
	return &both
}

// errConflict says that somebody wrote meanwhile: look again at once, quietly.
var errConflict = errors.New("somebody has written meanwhile")

func stalled(reason, format string, args ...any) *failure {
	return &failure{reason: reason, message: fmt.Sprintf(format, args...), stalled: true}
}

func transient(reason, format string, args ...any) *failure {
	return &failure{reason: reason, message: fmt.Sprintf(format, args...)}
}

// failureOf classifies an error, once for the whole package.
func failureOf(err error) *failure {
	var known *failure
	if errors.As(err, &known) {
		return known
	}
	if kube.Classify(err) == kube.Forbidden && !kube.DeniedByAdmission(err) {
		return transient(v1alpha1.ReasonApplyFailed, "%v: grant the manager that permission (config/rbac)", err)
	}
	return transient(v1alpha1.ReasonApplyFailed, "%v", err)
}

// notCompiling tells what is wrong with the files of a revision. Paths are seen
// from the top of the repository.
func notCompiling(found *directory.Error, top string) *failure {
	problems := make([]v1alpha1.SourceProblem, len(found.Problems))
	for i, p := range found.Problems {
		problems[i] = problemAt(path.Join(top, p.File), p.Line, p.Message)
	}
	return withProblems(v1alpha1.ReasonNotCompiling, problems)
}

// withProblems is a stalled failure whose message names the first problem.
func withProblems(reason string, problems []v1alpha1.SourceProblem) *failure {
	first := problems[0]
	text := first.File
	if first.Line > 0 {
		text = fmt.Sprintf("%s:%d", first.File, first.Line)
	}
	text += ": " + first.Message
	if more := len(problems) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return &failure{reason: reason, message: text, problems: problems, stalled: true}
}

func problemAt(file string, line int, message string) v1alpha1.SourceProblem {
	return v1alpha1.SourceProblem{File: prose.Shorten(file, maxFile), Line: int32(line),
		Message: prose.Shorten(message, maxMessage)}
}
