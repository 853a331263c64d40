// SPDX-License-Identifier: Apache-2.0

package reviews

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// asked is a file of one review of each operation, and one that Evenkeel never judges.
func asked(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "reviews")
	text := `{"request": {"operation": "CREATE", "name": "web"}}
{"request": {"operation": "UPDATE"}}
{"request": {"operation": "DELETE"}}
{"request": {"operation": "CONNECT", "subResource": "exec"}}
{"request": {"operation": "UPDATE", "subResource": "status"}}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// said are verdicts of them: the creation is refused, the others have warnings.
func said() []Verdict {
	warned := Verdict{Allowed: true, Violations: []string{"warn a: old"}}
	return []Verdict{{Violations: []string{"deny a: no owner", "deny a: no owner"}}, warned, warned, warned,
		{Allowed: true, Violations: []string{}}}
}

func TestVerdictsAreTheSameOrToldApart(t *testing.T) {
	of := func(i int, v Verdict) []Verdict {
		all := slices.Clone(said())
		all[i] = v
		return all
	}
	for name, tc := range map[string]struct {
		theirs, ours []Verdict
		says         string // empty: no error
	}{
		"the same":        {said(), said(), ""},
		"told less often": {said(), of(0, Verdict{Violations: []string{"deny a: no owner"}}), "CREATE of  /web"},
		"allowed": {said(), of(0, Verdict{Allowed: true, Violations: said()[0].Violations}),
			"Allowed:"},
		"what is never judged, judged by Gatekeeper": {of(4, Verdict{Violations: []string{"deny a: x"}}), said(),
			""},
		"what is never judged, judged by Evenkeel": {said(), of(4, Verdict{Violations: []string{"deny a: x"}}),
			"deny a: x"},
		"no answer":       {said(), said()[:3], "evenkeel 3"},
		"nothing refused": {of(0, Verdict{Allowed: true}), of(0, Verdict{Allowed: true}), "proves nothing"},
		"nothing of CONNECT": {of(3, Verdict{Allowed: true}), of(3, Verdict{Allowed: true}),
			"nothing is found of any CONNECT"},
	} {
		t.Run(name, func(t *testing.T) {
			summary, err := Same(asked(t), tc.theirs, tc.ours)
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("it says %v, want %q", err, tc.says)
			}
			want := "5 reviews of CONNECT /exec, CREATE, DELETE, UPDATE, UPDATE /status: the same 1 are refused, " +
				"with the same 5 violations"
			if err == nil && summary != want {
				t.Errorf("the summary is %s", summary)
			}
		})
	}
}
