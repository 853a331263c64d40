// SPDX-License-Identifier: Apache-2.0

package reviews

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// shown is how many differences are reported.
const shown = 20

// Verdict is the verdict on one review.
type Verdict struct {
	Allowed bool `json:"allowed"`
	// Violations are sorted: "ACTION CONSTRAINT: MESSAGE".
	Violations []string `json:"violations"`
}

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

// Same compares the verdicts of Gatekeeper and evenkeel on a file of reviews, one a line, and returns a summary. What
// Evenkeel never judges, a status, must be allowed (docs/migrate-from-gatekeeper.md). It is an error if the verdicts
// differ, or if too little is found to prove anything.
func Same(file string, theirs, ours []Verdict) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(theirs) != len(lines) || len(ours) != len(lines) {
		return "", fmt.Errorf("of %d reviews Gatekeeper answers %d and evenkeel %d", len(lines), len(theirs), len(ours))
	}
	var differences []string
	refused, total, kinds, violated := 0, 0, map[string]bool{}, map[string]int{}
	for i, line := range lines {
		var review struct{ Request request }
		if err := json.Unmarshal([]byte(line), &review); err != nil {
			return "", fmt.Errorf("review %d: %w", i, err)
		}
		r, want := review.Request, theirs[i]
		if r.SubResource == "status" {
			want = Verdict{Allowed: true, Violations: []string{}}
		}
		if diff := cmp.Diff(want, ours[i]); diff != "" {
			differences = append(differences, fmt.Sprintf("%s of %s %s/%s (-Gatekeeper +evenkeel):\n%s", r.what(),
				r.Kind.Kind, r.Namespace, r.Name, diff))
		}
		if !want.Allowed {
			refused++
		}
		kinds[r.what()] = true
		total += len(want.Violations)
		violated[r.Operation] += len(want.Violations)
	}
	if len(differences) > 0 {
		return "", fmt.Errorf("%d of %d reviews have other verdicts:\n%s", len(differences), len(lines),
			strings.Join(differences[:min(shown, len(differences))], "\n"))
	}
	if refused == 0 || refused == len(lines) {
		return "", errors.New("all or none of the reviews are refused: that proves nothing")
	}
	for _, operation := range []string{"CREATE", "UPDATE", "DELETE", "CONNECT"} {
		if violated[operation] == 0 {
			return "", fmt.Errorf("nothing is found of any %s: that proves nothing", operation)
		}
	}
	return fmt.Sprintf("%d reviews: the same %d are refused, with the same %d violations, of %s", len(lines), refused,
		total, strings.Join(slices.Sorted(maps.Keys(kinds)), ", ")), nil
}
