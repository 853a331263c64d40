// SPDX-License-Identifier: Apache-2.0

package reviews

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// shown is how many differences are told.
const shown = 20

// Verdict is what is said of one review.
type Verdict struct {
	Allowed bool `json:"allowed"`
	// Violations are sorted, as often as they are told: "ACTION CONSTRAINT: MESSAGE".
	Violations []string `json:"violations"`
}

// Counted says of how many reviews two webhooks say the same, and what.
type Counted struct {
	// Reviews are those compared, and Refused those of them that both refuse.
	Reviews, Refused, Violations int
	// LeftOut are those that Evenkeel never judges, and Operations count the others by operation and subresource.
	LeftOut    int
	Operations map[string]int
	// violated are the violations of each operation.
	violated map[string]int
}

// Same errs where two webhooks say something else of any of some reviews, or say so little that it proves nothing.
func Same(asked []Request, theirs, ours []Verdict) (Counted, error) {
	c := Counted{Operations: map[string]int{}, violated: map[string]int{}}
	if len(theirs) != len(asked) || len(ours) != len(asked) {
		return c, fmt.Errorf("of %d reviews Gatekeeper answers %d and evenkeel %d", len(asked), len(theirs),
			len(ours))
	}
	var differences []string
	for i, r := range asked {
		if r.leftOut() {
			c.LeftOut++
			theirs[i] = Verdict{Allowed: true}
		} else {
			c.count(r, theirs[i])
		}
		if !same(theirs[i], ours[i]) {
			differences = append(differences, fmt.Sprintf("%s:\n  Gatekeeper: %s\n  evenkeel:   %s", r,
				theirs[i].less(ours[i]), ours[i].less(theirs[i])))
		}
	}
	if len(differences) > 0 {
		return c, fmt.Errorf("%d of %d reviews have other verdicts:\n%s", len(differences), len(asked),
			strings.Join(differences[:min(shown, len(differences))], "\n"))
	}
	return c, c.telling()
}

// telling errs where the verdicts that are the same say too little.
func (c *Counted) telling() error {
	if c.Refused == 0 || c.Refused == c.Reviews {
		return errors.New("all or none of the reviews are refused: that proves nothing")
	}
	for _, operation := range []string{"CREATE", "UPDATE", "DELETE", "CONNECT"} {
		if c.violated[operation] == 0 {
			return fmt.Errorf("nothing is found of any %s: that proves nothing", operation)
		}
	}
	return nil
}

// String says what was compared.
func (c Counted) String() string {
	var operations []string
	for _, name := range slices.Sorted(maps.Keys(c.Operations)) {
		operations = append(operations, fmt.Sprintf("%d %s", c.Operations[name], name))
	}
	return fmt.Sprintf("%d reviews: the same %d are refused, with the same %d violations (%s); %d besides are of "+
		"subresources that evenkeel never judges", c.Reviews, c.Refused, c.Violations,
		strings.Join(operations, ", "), c.LeftOut)
}

func (c *Counted) count(r Request, v Verdict) {
	c.Reviews++
	c.Violations += len(v.Violations)
	if !v.Allowed {
		c.Refused++
	}
	c.Operations[r.what()]++
	c.violated[r.Operation] += len(v.Violations)
}

func same(a, b Verdict) bool {
	return a.Allowed == b.Allowed && slices.Equal(a.Violations, b.Violations)
}

// less is a verdict without the violations of another, so that a difference can be seen.
func (v Verdict) less(other Verdict) string {
	alone := slices.Clone(v.Violations)
	for _, violation := range other.Violations {
		if i := slices.Index(alone, violation); i >= 0 {
			alone = slices.Delete(alone, i, i+1)
		}
	}
	return fmt.Sprintf("allowed %t, of %d violations alone %q", v.Allowed, len(v.Violations), alone)
}
