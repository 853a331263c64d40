// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/test/commandline"
)

func TestOverrideRefusesWhatIsIncomplete(t *testing.T) {
	cases := map[string]struct {
		args string
		want string
	}{
		"no policy":            {"--enforcement Warn --for 1h --reason x", "give one policy"},
		"no enforcement":       {"p --for 1h --reason x", "give one of Deny, Warn, Audit"},
		"an unknown one":       {"p --enforcement warn --for 1h --reason x", `--enforcement "warn"`},
		"no time":              {"p --enforcement Warn --reason x", "--for is missing"},
		"no time to come":      {"p --enforcement Warn --for -1h --reason x", "--for -1h0m0s: an override ends"},
		"too long a time":      {"p --enforcement Warn --for 168h1s --reason x", "168h at most"},
		"no reason":            {"p --enforcement Warn --for 168h", "--reason is missing"},
		"an end and a begin":   {"p --clear --for 1h", "leave --enforcement, --for and --reason out"},
		"an end with a reason": {"p --clear --reason x", "leave --enforcement, --for and --reason out"},
		"an end of something":  {"p --clear --enforcement Warn", "leave --enforcement, --for and --reason out"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"override"}, strings.Fields(tc.args)...)
			_, message, code := commandline.Invoke(t, NewCommand(), args...)
			if code != command.ExitUsage || !strings.Contains(message, tc.want) {
				t.Errorf("code %d, %q; want %d and %q", code, message, command.ExitUsage, tc.want)
			}
		})
	}
}
