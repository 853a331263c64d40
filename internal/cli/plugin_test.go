// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"strings"
	"testing"
)

func TestHelpSaysHowItWasCalled(t *testing.T) {
	cases := map[string]struct {
		reason, program string
		args            []string
		want, never     []string
	}{
		"By its own name": {reason: "the ordinary way", program: "/usr/bin/evenkeel",
			args: []string{"rollout", "undo", "--help"},
			want: []string{"  evenkeel rollout undo NAME",
				"\n  evenkeel rollout undo privileged-containers --dry-run"},
			never: []string{"kubectl evenkeel"}},
		"As a plugin of kubectl": {reason: "kubectl runs kubectl-evenkeel from the PATH",
			program: "/home/a/bin/kubectl-evenkeel", args: []string{"rollout", "undo", "--help"},
			want: []string{"  kubectl evenkeel rollout undo NAME",
				"\n  kubectl evenkeel rollout undo privileged-containers --dry-run"}, never: []string{"\n  evenkeel "}},
		"Behind a pipe": {reason: "examples take standard input", program: "kubectl-evenkeel",
			args: []string{"check", "--help"},
			want: []string{"kustomize build overlays/prod | kubectl evenkeel check -"}, never: []string{"| evenkeel"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			root := newRootCommand()
			calledAs(root, tc.program)
			var out bytes.Buffer
			root.SetOut(&out)
			root.SetArgs(tc.args)
			if err := root.Execute(); err != nil {
				t.Fatal(err)
			}
			for _, part := range tc.want {
				if !strings.Contains(out.String(), part) {
					t.Errorf("%s: %q is missing in\n%s", tc.reason, part, out.String())
				}
			}
			for _, part := range tc.never {
				if strings.Contains(out.String(), part) {
					t.Errorf("%s: it says %q in\n%s", tc.reason, part, out.String())
				}
			}
		})
	}
}
