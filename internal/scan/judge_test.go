// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/scan/index"
)

// verdicts answers every request alike.
type verdicts func(r *policy.Request) []policy.Decision

func (v verdicts) EvaluateWhere(_ context.Context, r *policy.Request,
	keep func(*v1alpha1.ClusterRegoPolicy) bool) []catalog.Result {
	var out []catalog.Result
	for _, d := range v(r) {
		if keep(&v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: d.Policy}}) {
			out = append(out, catalog.Result{Decision: d})
		}
	}
	return out
}

func newJudge(tallies map[string]*index.Tally, v verdicts) *judge {
	return &judge{
		policies: v, tallies: tallies, kind: policy.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
		namespaces: newNamespaces(), clock: clocktesting.NewFakePassiveClock(epoch),
		gone: func(string) bool { return false }, failed: func(string) {},
	}
}

func TestJudge(t *testing.T) {
	tallies := newScanned(inForce("p", "r1"), inForce("q", "r1")).tallies
	p, q := tallies["p"], tallies["q"]
	unknown := &policy.UnknownReferenceError{Kind: "Service", Err: errors.New("its watch is broken")}
	violation := []policy.Violation{{Message: "first"}, {Message: "second"}}
	cases := map[string]struct {
		reason    string
		decisions []policy.Decision
		want      map[*index.Tally]index.Fault
	}{
		"an object that no policy concerns leaves no record": {reason: "memory grows with what concerns a policy"},
		"a decision of another revision doesn't count": {
			reason: "the policy changed while the pass was under way",
			decisions: []policy.Decision{{Policy: "p", Revision: "r2", Violations: violation},
				{Policy: "q", Revision: "r1"}},
			want: map[*index.Tally]index.Fault{q: {}},
		},
		"a policy that the pass doesn't know doesn't count": {
			reason:    "it came later and asks for a pass of its own",
			decisions: []policy.Decision{{Policy: "z", Revision: "r1", Violations: violation}},
		},
		"an evaluation error is kept": {
			reason: "it is never a pass, and never dropped",
			decisions: []policy.Decision{{Policy: "p", Revision: "r1", Err: errors.New("time limit")},
				{Policy: "q", Revision: "r1"}},
			want: map[*index.Tally]index.Fault{p: {Tally: p, Failed: true, Message: "time limit"}, q: {}},
		},
		"that lookups weren't known is kept apart": {
			reason:    "it passes by itself: whoever waits for a pass waits for a verdict",
			decisions: []policy.Decision{{Policy: "p", Revision: "r1", Err: unknown}},
			want: map[*index.Tally]index.Fault{
				p: {Tally: p, Failed: true, Unknown: true, Message: unknown.Error()}},
		},
		"a violation beside an error is kept": {
			reason: "what was found stands, and the error is counted",
			decisions: []policy.Decision{
				{Policy: "p", Revision: "r1", Violations: violation, Err: errors.New("time limit")},
				{Policy: "q", Revision: "r1", Violations: violation, FixErr: errors.New("no fix")}},
			want: map[*index.Tally]index.Fault{
				p: {Tally: p, Failed: true, Violations: 2, Message: "first (besides: time limit)"},
				q: {Tally: q, Failed: true, Violations: 2, Message: "first (besides: no fix)"}},
		},
		"a violation with a fix is fixable": {
			reason: "the first message stands for all",
			decisions: []policy.Decision{{Policy: "p", Revision: "r1", Violations: violation,
				Actions: []policy.Action{{Type: policy.ActionPatch}}}},
			want: map[*index.Tally]index.Fault{p: {Tally: p, Violations: 2, Fixable: true, Message: "first"}},
		},
		"a warning is no violation": {
			reason:    "warn only ever warns",
			decisions: []policy.Decision{{Policy: "p", Revision: "r1", Warnings: violation}},
			want:      map[*index.Tally]index.Fault{p: {}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			j := newJudge(tallies, func(*policy.Request) []policy.Decision { return tc.decisions })
			got := j.judge(t.Context(), object("v1", "ConfigMap", "a", nil))
			if got.Key != "ns/a" {
				t.Errorf("the key is %q, want ns/a", got.Key)
			}
			var clean []*index.Tally
			var faults []index.Fault
			for _, y := range []*index.Tally{p, q} {
				switch f, wanted := tc.want[y]; {
				case f != (index.Fault{}):
					faults = append(faults, f)
				case wanted:
					clean = append(clean, y)
				}
			}
			checkRecord(t, tc.reason, got.Record, clean, faults)
		})
	}
}

// TestAPolicyThatIsGoneIsAskedNoMore has one be deleted while the watch of a pass goes on by which it was in force: who
// deletes a costly one, or one that fails, has it cost and fail no more.
func TestAPolicyThatIsGoneIsAskedNoMore(t *testing.T) {
	tallies := newScanned(inForce("p", "r1"), inForce("q", "r1")).tallies
	j := newJudge(tallies, func(*policy.Request) []policy.Decision {
		return []policy.Decision{{Policy: "p", Revision: "r1", Err: errors.New("boom")},
			{Policy: "q", Revision: "r1", Err: errors.New("boom")}}
	})
	var failed []string
	j.failed = func(name string) { failed = append(failed, name) }
	j.gone = func(name string) bool { return name == "p" }
	got := j.judge(t.Context(), object("v1", "ConfigMap", "a", nil))
	checkRecord(t, "the policy that is gone has no verdict", got.Record, nil,
		[]index.Fault{{Tally: tallies["q"], Failed: true, Message: "boom"}})
	if diff := cmp.Diff([]string{"q"}, failed); diff != "" {
		t.Errorf("failed (-want +got):\n%s", diff)
	}
}

// checkRecord compares the record of the ConfigMap ns/a with that which some verdicts make; none of no verdict.
func checkRecord(t *testing.T, reason string, got *index.Record, clean []*index.Tally, faults []index.Fault) {
	t.Helper()
	var want *index.Record
	if len(clean)+len(faults) > 0 {
		of := object("v1", "ConfigMap", "a", nil)
		want = new(index.Shared).Record(clean, faults, "ns/a", string(of.GetUID()), of.GetResourceVersion())
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v isn't the record of an object that complies with %d policies and has the faults %+v", reason,
			got, len(clean), faults)
	}
}

func TestJudgeAsksForAnAudit(t *testing.T) {
	var got *policy.Request
	j := newJudge(nil, func(r *policy.Request) []policy.Decision { got = r; return nil })
	u := object("v1", "ConfigMap", "a", nil)
	j.judge(t.Context(), u)
	want := &policy.Request{Operation: policy.Create, Kind: policy.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
		Namespace: "ns", Name: "a", Object: u.Object, Audit: true, Now: epoch}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestMemoryPerObject(t *testing.T) {
	const objects = 20000
	cases := map[string]struct {
		reason string
		budget uint64
		bad    bool
	}{
		"a compliant object costs its key":     {reason: "the record is shared", budget: 160},
		"a violating object costs its verdict": {reason: "the message is shared", budget: 240, bad: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newScanned(inForce("p", "r1"))
			j := newJudge(f.tallies, func(r *policy.Request) []policy.Decision {
				d := policy.Decision{Policy: "p", Revision: "r1"}
				if tc.bad {
					d.Violations = []policy.Violation{
						{Message: "ConfigMap " + r.Name + " has no label owner, which says who answers for it"}}
				}
				return []policy.Decision{d}
			})
			before := heap()
			items := make([]*index.Judged, 0, objects)
			for i := range objects {
				u := object("v1", "ConfigMap", fmt.Sprintf("some-config-map-%06d", i), nil)
				u.Object["data"] = map[string]any{"body": string(make([]byte, 1000))}
				u.SetUID(types.UID(fmt.Sprintf("59aef948-36d1-4012-b9c9-%012d", i)))
				u.SetResourceVersion(fmt.Sprint(1000000 + i))
				items = append(items, j.judge(t.Context(), u))
			}
			f.pass(items...)
			clear(items)
			each := (heap() - before) / objects
			if each > tc.budget || each == 0 {
				t.Errorf("%s: an object costs %d bytes, want at most %d", tc.reason, each, tc.budget)
			}
			t.Logf("%d bytes an object", each)
			if s, _ := f.Summary("p", 0); s.Scanned != objects {
				t.Errorf("%d objects scanned, want %d", s.Scanned, objects)
			}
		})
	}
}

// heap is what is alive, in bytes.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
