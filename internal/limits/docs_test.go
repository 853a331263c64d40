// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"os"
	"strings"
	"testing"
)

func TestTheDocumentationNamesEveryProtectedKindAndClass(t *testing.T) {
	raw, err := os.ReadFile("../../docs/safety.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(raw), "## What no fix writes")
	text, _, _ = strings.Cut(text, "\n## ")
	for _, p := range ProtectedKinds() {
		if p.Kinds == nil && p.Group != ownGroup && !strings.Contains(text, "`"+p.Group+"`") {
			t.Errorf("docs/safety.md doesn't name the group %s", p.Group)
		}
		for _, kind := range p.Kinds {
			if !strings.Contains(text, kind) {
				t.Errorf("docs/safety.md doesn't name the kind %s", kind)
			}
		}
	}
	for _, class := range Classes() {
		if !strings.Contains(text, "| `"+string(class)+"` |") {
			t.Errorf("docs/safety.md doesn't explain the class %s", class)
		}
	}
}
