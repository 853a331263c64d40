// SPDX-License-Identifier: Apache-2.0

package compile_test

import (
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego/compile"
)

// uses are those that have OPA's checker recurse for ever, where r overlaps.
const uses = `
deny contains "x" if { b == r }

b := r.b if input.x
b := {k: data.test.r | some k in input.map} if input.y
c if { r == {"k": b} }
`

func TestHeadsThatOverlapBelowAComputedKeyAreRefused(t *testing.T) {
	const refused = "give one of the rules another name"
	const some = " if { some x in [1]; some y in [2] }\n"
	for name, tc := range map[string]struct {
		heads string
		err   string
	}{
		"two computed keys, and two constants": {"r[x][y] := 1" + some + "r.a.b := 1", refused},
		"the constants first":                  {"r.a.b := 1\nr[x][y] := 1" + some, refused},
		"numbers":                              {"r[1][1] := 1\nr[x][x] := input.a if some x in [1]", refused},
		"a set below a computed key":           {"r[x] contains x" + some + "r.a.b := 1", refused},
		"a set, and a set two below":           {"r[x] contains x" + some + "r[x][x] contains x" + some, refused},
		"a constant below a computed key":      {"r[x].a := 1" + some + "r.a.b := 1", refused},
		"one that holds the other":             {"r.a := {\"b\": 1}\nr[x][y] contains 1" + some, refused},
		"below a constant":                     {"r.a[x][y] := 1" + some + "r.a.c.d := 1", refused},
		"the same keys by other names": {
			"r[x][y] := 1" + some + "r[a][b] := 1 if { some a in [3]; some b in [4] }", ""},
		"two constants below one key":     {"r[x].a := 1" + some + "r[x].b := 2" + some, ""},
		"below other constants":           {"r.a[x][y] := 1" + some + "r.b.c := 1", ""},
		"one computed key, and constants": {"r[x] := 1 if some x in [\"q\"]\nr.a := 1\nr.b := 2", ""},
		"constants alone":                 {"r.a.b := 1\nr.a.c := {\"s\": 1}\nr.d := 2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			sources := []v1alpha1.RegoLibrary{{Name: "a.rego", Source: "package test\n" + tc.heads + "\n" + uses}}
			modules, err := compile.Parse(sources, v1alpha1.RegoV1)
			if err != nil {
				t.Fatal(err)
			}
			_, err = compile.Modules(v1alpha1.RegoV1, sources, modules)
			overlap := err != nil && strings.Contains(err.Error(), refused)
			if overlap != (tc.err != "") {
				t.Errorf("it says %v, want %q", err, tc.err)
			}
		})
	}
}

func TestARuleIsNotDefinedInTooManyWaysBelowAComputedKey(t *testing.T) {
	var heads strings.Builder
	for i := range 100 {
		heads.WriteString("r[x].k" + strings.Repeat("a", i+1) + " := 1 if some x in [1]\n")
	}
	sources := []v1alpha1.RegoLibrary{{Name: "a.rego", Source: "package test\n" + heads.String() + uses}}
	modules, err := compile.Parse(sources, v1alpha1.RegoV1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := compile.Modules(v1alpha1.RegoV1, sources, modules); err == nil ||
		!strings.Contains(err.Error(), "divide it into rules of other names") {
		t.Errorf("it says %v", err)
	}
}
