// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego/compile"
)

// TestManyProblemsAreShownUpToABound has each line of a policy be wrong: the first are told, and how many more there
// are, in a message that people can read.
func TestManyProblemsAreShownUpToABound(t *testing.T) {
	const lines, most = 2_000, 20 << 10
	long := strings.Repeat("x", 2_000)
	for name, tc := range map[string]struct {
		line  string
		count int
		want  string
	}{
		"kinds that match.references doesn't name": {
			`deny contains "x" if data.inventory.namespace[_].v1.Kind%d[_].spec.a`, lines, "1980 other problems"},
		"kinds with long names": {
			`deny contains "x" if data.inventory.namespace[_]["` + long + `/v1"].Kind%d` + long + `[_].spec.a`, 30,
			"10 other problems"},
		"what nothing defines": {`deny contains "x" if data.lib%d.a`, lines, "1980 other problems"},
		"forbidden functions":  {`deny contains "x" if http.send({"a": %d})`, 400, "380 other problems"},
		"versions of a kind": {
			`deny contains "x" if data.inventory.namespace[_]["networking.k8s.io/v%d"].Ingress[_].spec.a`, lines,
			"and 1990 others"},
		"one problem more than are shown": {`deny contains "x" if data.lib%d.a`, 21, "1 other problem "},
	} {
		t.Run(name, func(t *testing.T) {
			p := hostsPolicy(theIngresses)
			p.Spec.Rego.File, p.Spec.Rego.Version = "a.rego", v1alpha1.RegoV1
			var text strings.Builder
			text.WriteString("package a\n\n")
			for i := range tc.count {
				fmt.Fprintf(&text, tc.line+"\n", i)
			}
			p.Spec.Rego.Main = text.String()
			_, err := Compile(p)
			var refused *compile.Error
			if !errors.As(err, &refused) || len(err.Error()) > most || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want at most %d bytes with %q, got %d: %.300s …", most, tc.want, len(fmt.Sprint(err)),
					fmt.Sprint(err))
			}
		})
	}
}
