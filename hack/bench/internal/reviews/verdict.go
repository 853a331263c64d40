// SPDX-License-Identifier: Apache-2.0

package reviews

import (
	"bytes"
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

func (r request) String() string {
	return fmt.Sprintf("%s of %s %s/%s", r.what(), r.Kind.Kind, r.Namespace, r.Name)
}

// Same compares the verdicts of Gatekeeper and evenkeel on a file of reviews, one a line, and returns a summary. What
// Evenkeel never judges, a status, must be allowed (docs/migrate-from-gatekeeper.md). It is an error if the verdicts
// differ, or if too little is found to prove anything.
func Same(file string, theirs, ours []Verdict) (string, error) {
	asked, err := read(file)
	if err != nil {
		return "", err
	}
	if len(theirs) != len(asked) || len(ours) != len(asked) {
		return "", fmt.Errorf("of %d reviews Gatekeeper answers %d and evenkeel %d", len(asked), len(theirs), len(ours))
	}
	var differences []string
	for i, r := range asked {
		if r.SubResource == "status" {
			theirs[i] = Verdict{Allowed: true, Violations: []string{}}
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

func read(file string) (asked []request, err error) {
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
func summary(asked []request, verdicts []Verdict) (string, error) {
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
