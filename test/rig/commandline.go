// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"bytes"
	"context"
	"errors"
	"os/exec"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// CommandLine runs evenkeel against the suite's cluster as an administrator. It says what was printed, and the code
// that the command ended with.
func (r *Rig) CommandLine(ctx context.Context, args ...string) (stdout, stderr string, code int) {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, r.Binary(), append(args, "--kubeconfig", r.Kubeconfig)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		Expect(err).NotTo(HaveOccurred())
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}
