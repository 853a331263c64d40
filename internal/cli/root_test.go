// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/test/commandline"
)

func TestUnknownCommandsEndWithCodeTwo(t *testing.T) {
	tests := map[string]struct {
		reason string
		args   []string
		part   string
	}{
		"a slip in the first word": {"the commands are named", []string{"rolout", "get"},
			`no command "rolout": give one of breaker`},
		"a slip in what rollout does": {"a script must not take it for done", []string{"rollout", "aprove", "web"},
			`no command "aprove": give one of abort, approve`},
		"a slip in the kill switch": {"a person must not take it for done", []string{"breaker", "opne", "global"},
			`no command "opne": give one of close, history, list, open, reset`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, message, code := commandline.Invoke(t, newRootCommand(), tc.args...)
			if code != command.ExitUsage || !strings.Contains(message, tc.part) {
				t.Errorf("%s: code %d, message %q, want code 2 and %q", tc.reason, code, message, tc.part)
			}
			if lines := strings.Count(strings.TrimSpace(message), "\n"); lines > 2 {
				t.Errorf("the error is followed by %d lines, at most 2 leave it on the screen:\n%s", lines, message)
			}
		})
	}
}
