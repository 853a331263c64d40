// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strings"
	"testing"
)

// TestOnlyWhatCanBeHadIsOfferedWithoutARemark plays a proxy that knows a version which it doesn't give.
func TestOnlyWhatCanBeHadIsOfferedWithoutARemark(t *testing.T) {
	answers := func(_ string, args ...string) ([]byte, error) {
		switch strings.Join(args[:2], " ") {
		case "mod edit":
			return []byte(
				`{"Require":[{"Path":"a.example/new"},{"Path":"a.example/refused"},{"Path":"a.example/newest"},{"Path":"a.example/other","Indirect":true}]}`), nil
		case "list -m":
			if asked := strings.Join(args, " "); strings.Contains(asked, "a.example/other") {
				t.Errorf("go %s: it isn't a direct dependency", asked)
			}
			return []byte(`{"Path":"a.example/new","Version":"v1.0.0","Update":{"Version":"v1.0.1"}}
{"Path":"a.example/refused","Version":"v2.0.0","Update":{"Version":"v2.1.0"}}
{"Path":"a.example/newest","Version":"v3.0.0"}`), nil
		default:
			if strings.Contains(args[2], "refused") {
				return nil, errors.New("go: a.example/refused@v2.1.0: reading the proxy: 403 Forbidden")
			}
			return nil, nil
		}
	}
	var out strings.Builder
	if err := run([]string{"."}, &out, answers); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 5 || !strings.Contains(lines[1], "v1.0.1") || strings.Contains(lines[1], "can't") ||
		!strings.Contains(lines[2], "can't be had here") || !strings.Contains(lines[2], "403") {
		t.Errorf("it prints\n%s", out.String())
	}
}
