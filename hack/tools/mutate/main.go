// SPDX-License-Identifier: Apache-2.0

// Command mutate stands in for the go command that gremlins calls (hack/mutate.sh), and corrects what gremlins takes
// for granted: a mutant that doesn't compile, or that only go vet notices, isn't one that tests killed; no result comes
// from a cache; only the tests of the package itself count; and positions for which Go's coverage has no counter are
// covered where what contains them is.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

const (
	// goVariable names the go command that the stand-in calls.
	goVariable = "EVENKEEL_MUTATE_GO"
	// notViable is how go ends for gremlins where a mutant can't be built.
	notViable = 2
	// addressSpace bounds the memory of a mutant's tests, for some never stop appending.
	addressSpace = 8 << 30
)

func main() { os.Exit(standIn(os.Args[1:])) }

// standIn runs the go command, and returns its exit code.
func standIn(args []string) int {
	if len(args) == 0 || args[0] != "test" {
		return call(args, os.Stdout)
	}
	profile := ""
	if i := slices.Index(args, "-coverprofile"); i >= 0 && i+1 < len(args) {
		profile = args[i+1]
	}
	last := len(args) - 1
	args = slices.Concat([]string{"test", "-short", "-vet=off", "-count=1", "-ldflags=-w -s", "-trimpath"},
		args[1:last],
		[]string{strings.TrimSuffix(args[last], "/...")})
	limit := syscall.Rlimit{Cur: addressSpace, Max: addressSpace}
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &limit); err != nil {
		fmt.Fprintln(os.Stderr, "Error: bound the memory of tests:", err)
		return 1
	}
	var said bytes.Buffer
	code := call(args, &said)
	os.Stdout.Write(said.Bytes())
	switch {
	case code == 1 && bytes.Contains(said.Bytes(), []byte("[build failed]")):
		return notViable
	case code == 0 && profile != "":
		if err := amendFile(profile); err != nil {
			fmt.Fprintln(os.Stderr, "Error:", err)
			return 1
		}
	}
	return code
}

// call runs the go command.
func call(args []string, out interface{ Write([]byte) (int, error) }) int {
	cmd := exec.Command(os.Getenv(goVariable), args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, out, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // gremlins kills the stand-in only
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return max(exit.ExitCode(), 1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "Error:", err)
		return 1
	}
	return 0
}
