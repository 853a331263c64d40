// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"fmt"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// neighbours are all policies of a directory together, as a cluster has them: a fix of
// one that another contests is made by nobody.
type neighbours struct{ snapshot *catalog.Snapshot }

func newNeighbours(policies []directory.Located, engine rego.Engine) (*neighbours, error) {
	together := catalog.New(catalog.Options{TimeLimit: TimeLimit, Engine: engine})
	for _, p := range policies {
		if err := together.Set(p.Definition); err != nil {
			return nil, fmt.Errorf("policy %s: %w", p.Definition.Name, err)
		}
	}
	together.MarkComplete()
	return &neighbours{snapshot: together.Snapshot()}, nil
}

// harm says what another policy finds in what a fix left that it didn't find before;
// empty where none does.
func (n *neighbours) harm(ctx context.Context, fixed string, before, after *policy.Request) string {
	known := map[string][]policy.Violation{}
	verdicts := n.snapshot.Evaluate(ctx, before)
	for i := range verdicts {
		known[verdicts[i].Policy] = verdicts[i].Violations
	}
	verdicts = n.snapshot.Evaluate(ctx, after)
	for i := range verdicts {
		v := &verdicts[i]
		if v.Policy == fixed {
			continue
		}
		if added := policy.NewSince(known[v.Policy], v.Violations); len(added) > 0 {
			return fmt.Sprintf("the fixed object violates policy %s: %s", v.Policy, added[0].Message)
		}
	}
	return ""
}
