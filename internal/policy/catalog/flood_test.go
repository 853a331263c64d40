// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/policy"
)

// costlyRego costs what the object says.
const costlyRego = `package costly

deny contains "known" if input.object.kind == "Pod"

deny contains "x" if { some a in numbers.range(1, input.object.spec.cost); some b in numbers.range(1, 100); a + b == -1 }
`

func costly(user string, cost int64) *policy.Request {
	return &policy.Request{Operation: policy.Create, Kind: policy.GroupVersionKind{Version: "v1", Kind: "Pod"},
		UserInfo: policy.UserInfo{Username: user},
		Object:   map[string]any{"kind": "Pod", "spec": map[string]any{"cost": cost}}, Now: time.Unix(1_700_000_000, 0)}
}

// TestAFloodOfSlowObjectsDelaysNobodyElse fills the lane with evaluations of one
// client that never end, and judges an object of another client that takes many
// turns: it must come to its end while none of the flood does.
func TestAFloodOfSlowObjectsDelaysNobodyElse(t *testing.T) {
	c := New(Options{TimeLimit: time.Minute, Width: 1})
	if err := c.Set(definition("costly", costlyRego)); err != nil {
		t.Fatal(err)
	}
	flood, stop := context.WithCancel(t.Context())
	defer stop()
	var done sync.WaitGroup
	results := make([][]Result, 30)
	for i := range results {
		done.Go(func() { results[i] = c.Snapshot().Evaluate(flood, costly("flood", 100_000)) })
	}
	for c.lane.Waiting() < 20 {
		runtime.Gosched()
	}
	got := c.Snapshot().Evaluate(t.Context(), costly("other", 400))
	waiting := c.lane.Waiting()
	stop()
	done.Wait()
	if len(got) != 1 || got[0].Err != nil || len(got[0].Violations) != 1 {
		t.Errorf("the other client's object: %+v", got)
	}
	if waiting < 20 {
		t.Errorf("only %d of the flood wait any more: the other client came after them", waiting)
	}
	for _, res := range results {
		if len(res) != 1 || res[0].Err == nil || len(res[0].Violations) != 1 {
			t.Fatalf("of the flood: %+v", res)
		}
	}
	if n := c.lane.Waiting(); n != 0 {
		t.Errorf("%d wait for turns that nobody needs", n)
	}
}
