// SPDX-License-Identifier: Apache-2.0

package policies_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// TestBothEnginesDecideTheSame asks both engines for the decisions of the library's policies, with the parameters
// of their examples, and of those that hack/bench's ConstraintTemplates become, on requests for the examples'
// objects with some values that rules don't expect. The decisions must be the same byte for byte: violations,
// warnings, actions and errors.
func TestBothEnginesDecideTheSame(t *testing.T) {
	judged := append(fromLibrary(t), fromTemplates(t)...)
	objects := append(exampleObjects(t), templateObjects(t)...)
	asking := map[rego.Engine]*catalog.Snapshot{}
	for _, engine := range []rego.Engine{rego.Topdown, rego.CompiledEngine} {
		asking[engine] = inForce(t, judged, catalog.Options{Engine: engine, TimeLimit: time.Minute},
			inventory.NewFixed(objects, nil))
	}
	c := compared{asking: asking, policies: map[string]bool{}}
	for _, object := range objects { // as they are, so that most policies are asked whatever chance says
		c.ask(t.Context(), t, policy.NewAudit(object, nil, judgedAt()))
	}
	rapid.Check(t, func(rt *rapid.T) { c.ask(t.Context(), rt, requestFor(rt, objects)) })
	given := len(slices.DeleteFunc(judged, func(j judgedBy) bool { return j.policy == nil }))
	t.Logf("%d of %d policies, %d requests, %d decisions, %d of them compiled: %d violations, %d actions, "+
		"%d errors", len(c.policies), given, c.requests, c.decisions, c.compiled, c.violations, c.acted, c.failed)
	if len(c.policies) < given*9/10 || c.compiled < c.decisions*9/10 || c.violations == 0 || c.acted == 0 {
		t.Error("that proves too little: not enough policies are asked, or find something")
	}
}

// compared asks both engines, and counts.
type compared struct {
	asking                                                   map[rego.Engine]*catalog.Snapshot
	policies                                                 map[string]bool
	requests, decisions, compiled, violations, acted, failed int
}

func (c *compared) ask(ctx context.Context, t rapid.TB, r *policy.Request) {
	want := c.asking[rego.Topdown].EvaluateWhere(ctx, r, everyPolicy)
	got := c.asking[rego.CompiledEngine].EvaluateWhere(ctx, r, everyPolicy)
	c.requests++
	if len(got) != len(want) {
		t.Fatalf("%d decisions, want %d", len(got), len(want))
	}
	for i := range got {
		if mine, theirs := written(t, &got[i]), written(t, &want[i]); mine != theirs {
			t.Fatalf("%s of %v\ncompiled %s\n topdown %s", r.Operation, r.Judged(), mine, theirs)
		}
		c.decisions, c.violations = c.decisions+1, c.violations+len(got[i].Violations)
		c.acted += len(got[i].Actions)
		if got[i].Err != nil {
			c.failed++
		}
		if got[i].Engine == policy.CompiledEngine {
			c.compiled++
		}
		c.policies[got[i].Policy] = true
	}
}

func judgedAt() time.Time { return time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC) }

func everyPolicy(*v1alpha1.ClusterRegoPolicy) bool { return true }

func inForce(t *testing.T, all []judgedBy, options catalog.Options, others catalog.Inventory) *catalog.Snapshot {
	t.Helper()
	options.Inventory = others
	c := catalog.New(options)
	for _, j := range all {
		if j.template != nil {
			if err := c.SetTemplate(j.template); err != nil {
				t.Fatalf("%s: %v", j.template.Name, err)
			}
		}
	}
	for _, j := range all {
		if j.policy != nil {
			if err := c.Set(j.policy); err != nil {
				t.Fatalf("%s: %v", j.policy.Name, err)
			}
		}
	}
	return c.Snapshot()
}

// written is a decision, without what says which engine gave it.
func written(t rapid.TB, r *catalog.Result) string {
	d := r.Decision
	failed := fmt.Sprint(d.Err, d.FixErr)
	d.Engine, d.WhyTopdown, d.Err, d.FixErr = "", "", nil, nil
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + failed
}

// requestFor is a request on one of the objects, of which up to four values are odd.
func requestFor(rt *rapid.T, objects []map[string]any) *policy.Request {
	base := rapid.SampledFrom(objects).Draw(rt, "object")
	r := policy.NewAudit(departing(rt, base), nil, judgedAt())
	r.NamespaceObject = map[string]any{"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": r.Namespace, "labels": map[string]any{"stage": "production"}}}
	operations := []policy.Operation{policy.Create, policy.Update, policy.Delete}
	r.Operation = rapid.SampledFrom(operations).Draw(rt, "operation")
	if r.Audit = rapid.Bool().Draw(rt, "audit"); r.Audit {
		r.Operation = policy.Create
		return r
	}
	r.UserInfo = policy.UserInfo{Username: "jane@example.com", Groups: []string{"shop:admins"}}
	if r.Operation == policy.Update {
		r.OldObject = departing(rt, base)
	} else if r.Operation == policy.Delete {
		r.Object, r.OldObject = nil, r.Object
	}
	return r
}

// departing is an object with odd values in some places; its kind and name stay.
func departing(rt *rapid.T, object map[string]any) map[string]any {
	object = runtime.DeepCopyJSON(object)
	odds := []any{nil, "", "a", int64(0), 2.5, true, []any{}, map[string]any{}, []any{"a", nil}, "nginx:latest",
		"1Gi"}
	for range rapid.IntRange(0, 4).Draw(rt, "oddities") {
		below := rapid.SampledFrom([]string{"spec", "data", "metadata"}).Draw(rt, "part")
		at := placesIn(object[below], []any{below})
		at = slices.DeleteFunc(at, func(way []any) bool {
			return below == "metadata" && (len(way) < 2 || way[1] != "labels" && way[1] != "annotations")
		})
		if len(at) == 0 {
			continue
		}
		setIn(rt, object, rapid.SampledFrom(at).Draw(rt, "place"), odds)
	}
	return object
}
