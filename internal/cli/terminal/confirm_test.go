// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"bytes"
	"strings"
	"testing"
)

func TestOnlyAYesIsAYes(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "YES\n": true, " y \n": true, "yes": true, "\n": false,
		"":    false,
		"n\n": false, "yep\n": false, "no\ny\n": false} {
		var out bytes.Buffer
		if got, err := ask(strings.NewReader(answer), &out, "Approve?"); got != want || err != nil {
			t.Errorf("%q: %t, %v", answer, got, err)
		}
		if out.String() != "Approve? [y/N] " {
			t.Errorf("asked %q", out.String())
		}
	}
}

func TestAScriptIsntAsked(t *testing.T) {
	var out bytes.Buffer
	if yes, err := Confirm(strings.NewReader("n\n"), &out, "Approve?"); !yes || err != nil || out.Len() > 0 {
		t.Errorf("%t, %v, asked %q", yes, err, out.String())
	}
}
