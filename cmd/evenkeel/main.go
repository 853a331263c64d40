// SPDX-License-Identifier: Apache-2.0

// Command evenkeel is the policy controller and its command line: one binary.
package main

import (
	"errors"
	"fmt"
	"os"
	_ "time/tzdata" // maintenance windows name time zones, and the image has no zone files

	ctrl "sigs.k8s.io/controller-runtime"

	"evenkeel.dev/evenkeel/internal/cli"
)

func main() {
	err := cli.New(os.Args[0]).ExecuteContext(ctrl.SetupSignalHandler())
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "evenkeel:", err)
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		os.Exit(coded.ExitCode())
	}
	os.Exit(1)
}
