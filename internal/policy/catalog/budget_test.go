// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// TestOneBudgetForAllPolicies lets the first policies of a request take all that
// they may, and holds that every later one gets its share.
func TestOneBudgetForAllPolicies(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	ctx, cancel := context.WithDeadline(t.Context(), now.Add(4*time.Second))
	defer cancel()
	for operation, total := range map[policy.Operation]time.Duration{
		policy.Create: 4 * time.Second, policy.Update: 3 * time.Second} {
		s := &Snapshot{limit: time.Second, clock: clocktesting.NewFakePassiveClock(now)}
		b := s.budget(ctx, &policy.Request{Operation: operation}, 20)
		at := now
		for i := range 20 {
			share := b.share(at, 19-i)
			if share > time.Second || share < total/reserved/20 {
				t.Errorf("%s: policy %d gets %s", operation, i, share)
			}
			at = at.Add(share)
		}
		if at.Sub(now) > total+time.Millisecond {
			t.Errorf("%s: all together take %s of %s", operation, at.Sub(now), total)
		}
		if got := s.half(ctx); got != time.Second {
			t.Errorf("%s: another evaluation gets %s while there is much time", operation, got)
		}
	}
	unbounded := (&Snapshot{limit: time.Second}).budget(t.Context(), &policy.Request{}, 20)
	if got := unbounded.share(now, 19); got != time.Second {
		t.Errorf("without a deadline a policy gets %s, want its limit", got)
	}
}

// endlessRego never ends, beside a definition that finds something.
const endlessRego = `package slow

deny contains "x" if { some a in numbers.range(1, 100000); some b in numbers.range(1, 100000); a + b == -1 }
`

// TestSlowPoliciesLeaveTimeForTheOthers judges a request by many policies that
// never end, before one that finds a violation at once.
func TestSlowPoliciesLeaveTimeForTheOthers(t *testing.T) {
	c := New(Options{TimeLimit: 200 * time.Millisecond, Width: 1})
	for i := range 6 {
		if err := c.Set(definition(fmt.Sprintf("a-slow-%d", i), endlessRego)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Set(definition("b-quick", "package quick\n\ndeny contains \"known\" if true\n")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 600*time.Millisecond)
	defer cancel()
	results := c.Snapshot().Evaluate(
		ctx, &policy.Request{Operation: policy.Create, Kind: policy.GroupVersionKind{Version: "v1", Kind: "Pod"},
			Object: map[string]any{"kind": "Pod"}, Now: time.Unix(1_700_000_000, 0)})
	if len(results) != 7 {
		t.Fatalf("%d results", len(results))
	}
	for _, res := range results[:6] {
		// On a busy machine the request's own time may be up before.
		if !errors.Is(res.Err, rego.ErrTimeLimit) && !errors.Is(res.Err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", res.Policy, res.Err)
		}
	}
	if last := results[6]; last.Err != nil || len(last.Violations) != 1 {
		t.Errorf("the quick policy had no time left: %+v", last.Decision)
	}
}

func definition(name, source string) *v1alpha1.ClusterRegoPolicy {
	p := &v1alpha1.ClusterRegoPolicy{Spec: v1alpha1.RegoPolicySpec{
		Rego:  v1alpha1.RegoSource{File: "a.rego", Main: source},
		Match: v1alpha1.Match{Kinds: []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"Pod"}}}},
	}}
	p.Name = name
	p.SetDefaults()
	return p
}
