// SPDX-License-Identifier: Apache-2.0

package authoring

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/test/commandline"
)

func TestANewPolicyWorksAtOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	out, message, code := commandline.Invoke(t, newNewCommand(), "policy", "no-escalation", "--dir",
		"policies/security", "--with-fix")
	if code != 0 {
		t.Fatalf("code %d: %s", code, message)
	}
	for _, part := range []string{
		"policies/security/no_escalation/no_escalation.rego\n", "policies/security/no_escalation/examples.yaml\n",
		"  its owner, a placeholder now: team-example\n",
		"  its runbook, a placeholder now: https://example.com/runbooks/no-escalation\n",
		"  evenkeel build policies/security/no_escalation\n",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("output has no %q:\n%s", part, out)
		}
	}
	if !strings.HasSuffix(out, "\n  evenkeel test policies/security/no_escalation\n") {
		t.Errorf("the next command isn't the last line:\n%s", out)
	}
	for line := range strings.Lines(out) {
		if len(line) > 81 {
			t.Errorf("a line of %d characters: %s", len(line)-1, line)
		}
	}
	if out, message, code := commandline.Invoke(t, newTestCommand(), "policies/security/no_escalation"); code != 0 ||
		!strings.Contains(out, "coverage 100.0 %") {
		t.Errorf("evenkeel test: code %d (%s), output\n%s", code, message, out)
	}
	if out, message, code := commandline.Invoke(t, newBuildCommand(), "policies"); code != 0 ||
		!strings.Contains(out, "name: no-escalation\n") {
		t.Errorf("evenkeel build: code %d (%s), output\n%s", code, message, out)
	}
	file := filepath.Join("policies", "security", "no_escalation", "examples.yaml")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, message, code := commandline.Invoke(t, newNewCommand(), "policy", "no-escalation", "--dir",
		"policies/security"); code != command.ExitFailed ||
		!strings.Contains(message, "exists already: nothing was written") {
		t.Errorf("a second time: code %d, message %q, want code 1 and what is there", code, message)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "mine" {
		t.Errorf("the file was written over: %q (%v)", text, err)
	}
}

func TestANewPolicyOfAWrongNameIsWrongUse(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{{"policy"}, {"policy", "No"}, {"policy", "a", "--kind", "Hat"},
		{"policy", "a", "--runbook", "wiki"}, {"hat", "a"}} {
		if _, message, code := commandline.Invoke(t, newNewCommand(), args...); code != command.ExitUsage ||
			message == "" {
			t.Errorf("new %v: code %d, message %q, want code 2 and a reason", args, code, message)
		}
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}
