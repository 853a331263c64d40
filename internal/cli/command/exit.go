// SPDX-License-Identifier: Apache-2.0

package command

// The exit codes: something isn't as it should be; the command was called
// wrongly; the command couldn't do its work.
const (
	ExitFailed  = 1
	ExitUsage   = 2
	ExitFailure = 3
)

// exitError ends the program with a code. What it says is all that is printed.
type exitError struct {
	code int
	err  error
}

// Exit is an error with the code that the program ends with.
func Exit(code int, err error) error { return &exitError{code: code, err: err} }

func (e *exitError) Error() string { return e.err.Error() }

func (e *exitError) Unwrap() error { return e.err }

// ExitCode is the code that the program ends with.
func (e *exitError) ExitCode() int { return e.code }
