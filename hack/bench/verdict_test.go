// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/hack/bench/internal/own"
)

// shown is how many differences are reported.
const shown = 20

// request is what identifies a review.
type request struct {
	Operation, SubResource, Namespace, Name string

	Kind     struct{ Kind string }
	Resource struct{ Resource string }
}

func (r request) what() string {
	if r.SubResource == "" {
		return r.Operation
	}
	return r.Operation + " " + r.Resource.Resource + "/" + r.SubResource
}

func (r request) String() string {
	return fmt.Sprintf("%s of %s %s/%s", r.what(), r.Kind.Kind, r.Namespace, r.Name)
}

// sameVerdicts compares the verdicts of Gatekeeper and evenkeel on a file of reviews, one a line, and returns a
// summary. What Evenkeel never judges, a status, must be allowed (docs/migrate-from-gatekeeper.md). It is an error if
// the verdicts differ, or if too little is found to prove anything.
func sameVerdicts(file string, theirs, ours []own.Verdict) (string, error) {
	asked, err := readRequests(file)
	if err != nil {
		return "", err
	}
	if len(theirs) != len(asked) || len(ours) != len(asked) {
		return "", fmt.Errorf("of %d reviews Gatekeeper answers %d and evenkeel %d", len(asked), len(theirs), len(ours))
	}
	var differences []string
	for i, r := range asked {
		if r.SubResource == "status" {
			theirs[i] = own.Verdict{Allowed: true, Violations: []string{}}
		}
		if diff := cmp.Diff(theirs[i], ours[i]); diff != "" {
			differences = append(differences, fmt.Sprintf("%s (-Gatekeeper +evenkeel):\n%s", r, diff))
		}
	}
	if len(differences) > 0 {
		return "", fmt.Errorf("%d of %d reviews have other verdicts:\n%s", len(differences), len(asked),
			strings.Join(differences[:min(shown, len(differences))], "\n"))
	}
	return summary(asked, ours)
}

func readRequests(file string) (asked []request, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		var review struct{ Request request }
		if err := json.Unmarshal(line, &review); err != nil {
			return nil, fmt.Errorf("review %d: %w", len(asked), err)
		}
		asked = append(asked, review.Request)
	}
	return asked, nil
}

// summary is an error if the verdicts, which are the same, prove nothing.
func summary(asked []request, verdicts []own.Verdict) (string, error) {
	refused, total, kinds, found := 0, 0, map[string]bool{}, map[string]bool{}
	for i, r := range asked {
		if !verdicts[i].Allowed {
			refused++
		}
		total += len(verdicts[i].Violations)
		kinds[r.what()] = true
		found[r.Operation] = found[r.Operation] || len(verdicts[i].Violations) > 0
	}
	if refused == 0 || refused == len(asked) {
		return "", errors.New("all or none of the reviews are refused: that proves nothing")
	}
	for _, operation := range []string{"CREATE", "UPDATE", "DELETE", "CONNECT"} {
		if !found[operation] {
			return "", fmt.Errorf("nothing is found of any %s: that proves nothing", operation)
		}
	}
	return fmt.Sprintf("%d reviews of %s: the same %d are refused, with the same %d violations", len(asked),
		strings.Join(slices.Sorted(maps.Keys(kinds)), ", "), refused, total), nil
}

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
func said() []own.Verdict {
	warned := own.Verdict{Allowed: true, Violations: []string{"warn a: old"}}
	return []own.Verdict{{Violations: []string{"deny a: no owner", "deny a: no owner"}}, warned, warned, warned,
		{Allowed: true, Violations: []string{}}}
}

func TestVerdictsAreTheSameOrToldApart(t *testing.T) {
	of := func(i int, v own.Verdict) []own.Verdict {
		all := slices.Clone(said())
		all[i] = v
		return all
	}
	for name, tc := range map[string]struct {
		theirs, ours []own.Verdict
		says         string // empty: no error
	}{
		"the same":        {said(), said(), ""},
		"told less often": {said(), of(0, own.Verdict{Violations: []string{"deny a: no owner"}}), "CREATE of  /web"},
		"allowed": {said(), of(0, own.Verdict{Allowed: true, Violations: said()[0].Violations}),
			"Allowed:"},
		"what is never judged, judged by Gatekeeper": {of(4, own.Verdict{Violations: []string{"deny a: x"}}), said(),
			""},
		"what is never judged, judged by Evenkeel": {said(), of(4, own.Verdict{Violations: []string{"deny a: x"}}),
			"deny a: x"},
		"no answer":       {said(), said()[:3], "evenkeel 3"},
		"nothing refused": {of(0, own.Verdict{Allowed: true}), of(0, own.Verdict{Allowed: true}), "proves nothing"},
		"nothing of CONNECT": {of(3, own.Verdict{Allowed: true}), of(3, own.Verdict{Allowed: true}),
			"nothing is found of any CONNECT"},
	} {
		t.Run(name, func(t *testing.T) {
			summary, err := sameVerdicts(asked(t), tc.theirs, tc.ours)
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
