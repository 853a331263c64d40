// SPDX-License-Identifier: Apache-2.0

package authoring

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/test/commandline"
)

func TestRunbooksAreWrittenForEveryPolicyAndTouchNothingElse(t *testing.T) {
	out := filepath.Join(t.TempDir(), "pages")
	if err := os.MkdirAll(out, 0o755); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(out, "mine.md")
	if err := os.WriteFile(mine, []byte("my own page"), 0o600); err != nil {
		t.Fatal(err)
	}
	printed, message, code := commandline.Invoke(t, newRunbooksCommand(), commandline.Library, out, "--docs-url",
		"https://wiki.example.com/ek/")
	if code != 0 || !strings.Contains(printed, fmt.Sprintf("%d pages written", len(libraryNames(t)))) {
		t.Fatalf("code %d: %s%s", code, printed, message)
	}
	page, err := os.ReadFile(filepath.Join(out, "host-namespaces.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"# Pods must not use the node's namespaces\n", "severity Critical · Deny · owner platform-security",
		"/spec/template/spec/hostPID: the pod shares the node's process namespace", "-      hostPID: true\n",
		"https://wiki.example.com/ek/waivers", "Evenkeel offers no fix for it.",
	} {
		if !strings.Contains(string(page), part) {
			t.Errorf("host-namespaces.md lacks %q:\n%s", part, page)
		}
	}
	if kept, err := os.ReadFile(mine); err != nil || string(kept) != "my own page" {
		t.Errorf("a page of somebody else's is %q now: %v", kept, err)
	}
}

func TestRunbooksOfWhatIsNoPolicyAreRefused(t *testing.T) {
	empty := t.TempDir()
	if _, message, code := commandline.Invoke(t, newRunbooksCommand(), empty, filepath.Join(empty, "out")); code == 0 ||
		message == "" {
		t.Errorf("code %d, message %q", code, message)
	}
	if _, message, code := commandline.Invoke(t, newRunbooksCommand(), empty); code != command.ExitUsage ||
		!strings.Contains(message, "usage:") {
		t.Errorf("code %d, message %q", code, message)
	}
}
