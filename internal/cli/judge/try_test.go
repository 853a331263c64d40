// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"testing"

	"evenkeel.dev/evenkeel/internal/check"
)

// Whoever tries several policies learns how to plan each of them, not the first alone.
func TestEachPolicyThatWasTriedCanBePlanned(t *testing.T) {
	trials := func(n int) (out []check.Trial) {
		for i := range n {
			out = append(out, check.Trial{Policy: fmt.Sprintf("p%d", i)})
		}
		return out
	}
	const head, each = "What the rollout of each one's fixes would be:", "\n  evenkeel plan p%d -p dir -p more"
	several := func(n int) (out string) {
		for i := range n {
			out += fmt.Sprintf(each, i)
		}
		return head + out
	}
	for name, tc := range map[string]struct {
		tried int
		want  string
	}{
		"one":                    {1, "What the rollout of its fixes would be: evenkeel plan p0 -p dir -p more"},
		"several":                {5, several(5)},
		"one more than are told": {6, several(5) + "\n  and so on, of 1 more policy"},
		"many":                   {9, several(5) + "\n  and so on, of 4 more policies"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := nextSteps(trials(tc.tried), []string{"dir", "more"}); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}
