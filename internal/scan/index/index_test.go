// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

var (
	configMaps  = schema.GroupKind{Kind: "ConfigMap"}
	deployments = schema.GroupKind{Group: "apps", Kind: "Deployment"}
	epoch       = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

// fixture is an Index with the revisions that its catalog has in force.
type fixture struct {
	*Index
	revisions map[string]string
	plans     map[schema.GroupKind]map[string]*Tally
	found     []Transition
}

func newFixture() *fixture {
	f := &fixture{revisions: map[string]string{}}
	f.Index = New(Options{Clock: clock.RealClock{},
		InForce: func(name string) (string, bool) { r, ok := f.revisions[name]; return r, ok }})
	f.observe = func(found []Transition) { f.found = append(f.found, found...) }
	return f
}

// inForce puts policies in force, each written as name, revision, kinds.
func (f *fixture) inForce(defs ...Definition) {
	clear(f.revisions)
	for _, d := range defs {
		f.revisions[d.Name] = d.Revision
	}
	f.plans, _ = f.SetPolicies(defs)
}

// pass records a full pass and settles the kind.
func (f *fixture) pass(gk schema.GroupKind, objects ...*Judged) {
	f.Replace(gk, "v1", listOf(objects...))
	f.MarkListed(gk, f.plans[gk], epoch)
}

func listOf(objects ...*Judged) *List {
	list := NewList()
	for _, j := range objects {
		list.Put(j)
	}
	return list
}

// EndPass ends a pass by the plan.
func (f *fixture) EndPass(gk schema.GroupKind, number uint64) {
	f.Index.EndPass(gk, f.plans[gk], number)
}

// object is judged by every policy of the plan; violations by policy, -1 for an error.
func (f *fixture) object(gk schema.GroupKind, name string, violations map[string]int) *Judged {
	clean, faults := []*Tally{}, []Fault{}
	for _, t := range f.plans[gk] {
		switch n := violations[t.Policy]; {
		case n < 0:
			faults = append(faults, Fault{Tally: t, Failed: true, Message: "boom"})
		case n > 0:
			faults = append(faults, Fault{Tally: t, Violations: int32(n), Message: "bad"})
		default:
			clean = append(clean, t)
		}
	}
	key := KeyOf("ns", name)
	return &Judged{Key: key, Record: new(Shared).Record(clean, faults, key, "uid-"+name, "7")}
}

func def(name, revision string, kinds ...schema.GroupKind) Definition {
	return Definition{Name: name, Revision: revision, Severity: v1alpha1.SeverityHigh, Kinds: kinds}
}

func finding(apiVersion, kind, name string) policy.Finding {
	return policy.Finding{APIVersion: apiVersion, Kind: kind, Namespace: "ns", Name: name,
		UID: "uid-" + name, ResourceVersion: "7", Violations: 1, Message: "bad"}
}

func TestIndex(t *testing.T) {
	type want struct {
		Findings []policy.Finding
		Revision string
		Complete bool
		State    v1alpha1.ScanState
		Counts   Counts
	}
	bad := map[string]int{"p": 1}
	cases := map[string]struct {
		reason string
		do     func(f *fixture)
		want   want
	}{
		"a policy whose kind isn't listed yet is pending": {
			reason: "nothing is known, so nothing may be planned from it",
			do:     func(f *fixture) { f.inForce(def("p", "r1", configMaps)) },
			want:   want{Revision: "r1", State: v1alpha1.ScanPending},
		},
		"a policy without kinds is complete at once": {
			reason: "it judges deletions only, there is nothing to list",
			do:     func(f *fixture) { f.inForce(def("p", "r1")) },
			want:   want{Revision: "r1", Complete: true, State: v1alpha1.ScanComplete},
		},
		"a full pass is complete and sorted": {
			reason: "kind first, then namespace and name",
			do: func(f *fixture) {
				f.inForce(def("p", "r1", configMaps, deployments))
				f.pass(deployments, f.object(deployments, "a", bad))
				f.pass(configMaps, f.object(configMaps, "z", bad), f.object(configMaps, "b", bad),
					f.object(configMaps, "ok", nil))
			},
			want: want{Revision: "r1", Complete: true, State: v1alpha1.ScanComplete,
				Findings: []policy.Finding{finding("v1", "ConfigMap", "b"), finding("v1", "ConfigMap", "z"),
					finding("v1", "Deployment", "a")},
				Counts: Counts{Scanned: 4, Violating: 3, Violations: 3}},
		},
		"one kind of two listed is pending": {
			reason: "the figures don't cover everything",
			do: func(f *fixture) {
				f.inForce(def("p", "r1", configMaps, deployments))
				f.pass(configMaps, f.object(configMaps, "b", bad))
			},
			want: want{Revision: "r1", State: v1alpha1.ScanPending,
				Findings: []policy.Finding{finding("v1", "ConfigMap", "b")},
				Counts:   Counts{Scanned: 1, Violating: 1, Violations: 1}},
		},
		"a relist removes what vanished": {
			reason: "a deletion missed by the watch is found",
			do: func(f *fixture) {
				f.inForce(def("p", "r1", configMaps))
				f.pass(configMaps, f.object(configMaps, "a", bad), f.object(configMaps, "b", bad),
					f.object(configMaps, "c", nil))
				f.pass(configMaps, f.object(configMaps, "b", bad))
			},
			want: want{Revision: "r1", Complete: true, State: v1alpha1.ScanComplete,
				Findings: []policy.Finding{finding("v1", "ConfigMap", "b")},
				Counts:   Counts{Scanned: 1, Violating: 1, Violations: 1}},
		},
		"an update to compliance, a deletion and an addition count": {
			reason: "the watch keeps the figures true",
			do: func(f *fixture) {
				f.inForce(def("p", "r1", configMaps))
				f.pass(configMaps, f.object(configMaps, "a", bad), f.object(configMaps, "b", bad))
				f.Put(configMaps, f.object(configMaps, "a", nil))
				f.Remove(configMaps, "ns/b")
				f.Put(configMaps, f.object(configMaps, "c", bad))
			},
			want: want{Revision: "r1", Complete: true, State: v1alpha1.ScanComplete,
				Findings: []policy.Finding{finding("v1", "ConfigMap", "c")},
				Counts:   Counts{Scanned: 2, Violating: 1, Violations: 1}},
		},
		"an object that can't be judged is an error and no finding": {
			reason: "an evaluation error is never a pass, nor a violation to fix",
			do: func(f *fixture) {
				f.inForce(def("p", "r1", configMaps))
				f.pass(configMaps, f.object(configMaps, "a", map[string]int{"p": -1}))
			},
			want: want{Revision: "r1", Complete: true, State: v1alpha1.ScanComplete,
				Counts: Counts{Scanned: 1, Errors: 1, ErrorsUnknown: 1}},
		},
		"a new revision starts from nothing": {
			reason: "verdicts of the old revision are never shown as the new one's",
			do: func(f *fixture) {
				f.inForce(def("p", "r1", configMaps))
				f.pass(configMaps, f.object(configMaps, "a", bad))
				f.inForce(def("p", "r2", configMaps))
			},
			want: want{Revision: "r2", State: v1alpha1.ScanPending},
		},
		"a pass that judged by the old revision doesn't complete the new one": {
			reason: "the pass was under way when the policy changed",
			do: func(f *fixture) {
				f.inForce(def("p", "r1", configMaps))
				old := f.plans[configMaps]
				object := f.object(configMaps, "a", bad)
				f.inForce(def("p", "r2", configMaps))
				f.Replace(configMaps, "v1", listOf(object))
				f.MarkListed(configMaps, old, epoch)
			},
			want: want{Revision: "r2", State: v1alpha1.ScanPending},
		},
		"another policy's change leaves this one complete": {
			reason: "the verdicts of the other policies stay until the new list replaces them",
			do: func(f *fixture) {
				f.inForce(def("p", "r1", configMaps), def("q", "r1", configMaps))
				f.pass(configMaps, f.object(configMaps, "a", bad))
				f.inForce(def("p", "r1", configMaps), def("q", "r2", configMaps))
			},
			want: want{Revision: "r1", Complete: true, State: v1alpha1.ScanComplete,
				Findings: []policy.Finding{finding("v1", "ConfigMap", "a")},
				Counts:   Counts{Scanned: 1, Violating: 1, Violations: 1}},
		},
		"a kind that fails makes the policy incomplete, old figures stay": {
			reason: "a lower bound, and nothing is planned from it",
			do: func(f *fixture) {
				f.inForce(def("p", "r1", configMaps))
				f.pass(configMaps, f.object(configMaps, "a", bad))
				f.Fail(configMaps, "forbidden")
			},
			want: want{Revision: "r1", State: v1alpha1.ScanIncomplete,
				Findings: []policy.Finding{finding("v1", "ConfigMap", "a")},
				Counts:   Counts{Scanned: 1, Violating: 1, Violations: 1}},
		},
		"a kind that fails and recovers is complete again": {
			reason: "the watch goes on from where it broke off",
			do: func(f *fixture) {
				f.inForce(def("p", "r1", configMaps))
				f.pass(configMaps)
				f.Fail(configMaps, "refused")
				f.Resume(configMaps)
			},
			want: want{Revision: "r1", Complete: true, State: v1alpha1.ScanComplete},
		},
		"a catalog ahead of the index makes findings incomplete": {
			reason: "the revision judged isn't the one in force any more",
			do: func(f *fixture) {
				f.inForce(def("p", "r1", configMaps))
				f.pass(configMaps)
				f.revisions["p"] = "r2"
			},
			want: want{Revision: "r1", State: v1alpha1.ScanPending},
		},
		"a policy that is gone has no findings": {
			reason: "nothing is known of it",
			do: func(f *fixture) {
				f.inForce(def("p", "r1", configMaps))
				f.pass(configMaps, f.object(configMaps, "a", bad))
				f.inForce()
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFixture()
			tc.do(f)
			var got want
			got.Findings, got.Revision, got.Complete = f.Findings("p")
			if len(got.Findings) == 0 {
				got.Findings = nil
			}
			if s, ok := f.Summary("p", 1); ok {
				got.State, got.Counts = s.State, s.Counts
				if len(s.Sample) != min(1, len(got.Findings)) {
					t.Errorf("%s: a sample of at most 1 has %d of %d findings", tc.reason, len(s.Sample),
						len(got.Findings))
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestTransitions(t *testing.T) {
	bad, unknown := map[string]int{"p": 1}, map[string]int{"p": -1}
	cases := map[string]struct {
		reason string
		do     func(f *fixture)
		want   []string
	}{
		"the first pass is none": {
			reason: "one summary stands for it",
			do:     func(f *fixture) { f.pass(configMaps, f.object(configMaps, "a", bad)) },
		},
		"an object that begins to violate is one": {
			reason: "by an update or as a new object",
			do: func(f *fixture) {
				f.pass(configMaps, f.object(configMaps, "a", nil))
				f.Put(configMaps, f.object(configMaps, "a", bad))
				f.Put(configMaps, f.object(configMaps, "b", bad))
			},
			want: []string{"p ns/a", "p ns/b"},
		},
		"an object that goes on violating is none": {
			reason: "only the change is told",
			do: func(f *fixture) {
				f.pass(configMaps, f.object(configMaps, "a", bad))
				f.Put(configMaps, f.object(configMaps, "a", map[string]int{"p": 2}))
				f.pass(configMaps, f.object(configMaps, "a", bad))
			},
		},
		"a relist finds what the watch missed": {
			reason: "the resync is for truth",
			do: func(f *fixture) {
				f.pass(configMaps, f.object(configMaps, "a", nil))
				f.pass(configMaps, f.object(configMaps, "a", bad))
			},
			want: []string{"p ns/a"},
		},
		"an object that violated before it couldn't be judged is none": {
			reason: "what its rules look up wasn't known for a moment",
			do: func(f *fixture) {
				f.pass(configMaps, f.object(configMaps, "a", bad))
				f.pass(configMaps, f.object(configMaps, "a", unknown))
				f.Put(configMaps, f.object(configMaps, "a", unknown))
				f.pass(configMaps, f.object(configMaps, "a", bad))
			},
		},
		"an object that complied before it couldn't be judged is one": {
			reason: "that it couldn't be judged for a moment doesn't hide what has changed",
			do: func(f *fixture) {
				f.pass(configMaps, f.object(configMaps, "a", nil))
				f.Put(configMaps, f.object(configMaps, "a", unknown))
				f.pass(configMaps, f.object(configMaps, "a", bad))
			},
			want: []string{"p ns/a"},
		},
		"an object that came while none could be judged is one": {
			reason: "it wasn't there before",
			do: func(f *fixture) {
				f.pass(configMaps)
				f.Put(configMaps, f.object(configMaps, "a", unknown))
				f.Put(configMaps, f.object(configMaps, "a", bad))
			},
			want: []string{"p ns/a"},
		},
		"an object that couldn't be judged in the first pass is none": {
			reason: "the manager has just started: nothing is known of before",
			do: func(f *fixture) {
				f.pass(configMaps, f.object(configMaps, "a", unknown))
				f.pass(configMaps, f.object(configMaps, "a", bad))
			},
		},
		"an object that complied since is one": {
			reason: "it could be judged once",
			do: func(f *fixture) {
				f.pass(configMaps, f.object(configMaps, "a", unknown))
				f.Put(configMaps, f.object(configMaps, "a", nil))
				f.Put(configMaps, f.object(configMaps, "a", bad))
			},
			want: []string{"p ns/a"},
		},
		"the first pass of a new revision is none": {
			reason: "the rule changed, not the objects",
			do: func(f *fixture) {
				f.pass(configMaps, f.object(configMaps, "a", nil))
				f.inForce(def("p", "r2", configMaps))
				f.pass(configMaps, f.object(configMaps, "a", bad))
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFixture()
			f.inForce(def("p", "r1", configMaps))
			tc.do(f)
			var got []string
			for _, tr := range f.found {
				got = append(got, tr.Policy+" "+tr.Key)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestCountsNeverDrift applies random histories and compares the counts kept in
// step with a recount of what is held.
func TestCountsNeverDrift(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newFixture()
		names, kinds := []string{"p", "q"}, []schema.GroupKind{configMaps, deployments}
		revision := map[string]int{}
		swap := func() {
			var defs []Definition
			for _, n := range names {
				if rapid.Bool().Draw(rt, "in force") {
					defs = append(defs, def(n, fmt.Sprint("r", revision[n]),
						kinds[:rapid.IntRange(1, 2).Draw(rt, "kinds")]...))
				}
			}
			f.inForce(defs...)
		}
		object := func(gk schema.GroupKind, name string) *Judged {
			if rapid.IntRange(0, 5).Draw(rt, "unconcerned") == 0 {
				return &Judged{Key: KeyOf("ns", name)}
			}
			v := map[string]int{}
			for _, n := range names {
				v[n] = rapid.IntRange(-1, 2).Draw(rt, n)
			}
			return f.object(gk, name, v)
		}
		swap()
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			gk := rapid.SampledFrom(kinds).Draw(rt, "kind")
			name := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "name")
			switch rapid.IntRange(0, 4).Draw(rt, "step") {
			case 0:
				f.Put(gk, object(gk, name))
			case 1:
				f.Remove(gk, KeyOf("ns", name))
			case 2:
				var items []*Judged
				for _, n := range []string{"a", "b", "c", "d"} {
					if rapid.Bool().Draw(rt, "listed") {
						items = append(items, object(gk, n))
					}
				}
				f.pass(gk, items...)
			case 3:
				revision[rapid.SampledFrom(names).Draw(rt, "policy")]++
				swap()
			case 4:
				swap()
			}
			f.checkCounts(rt)
		}
	})
}

func (f *fixture) checkCounts(t *rapid.T) {
	t.Helper()
	for name, e := range f.policies {
		var want Counts
		for gk := range e.tally.listed {
			k := f.kinds[gk]
			if k == nil {
				continue
			}
			for _, r := range k.clean {
				if _, concerned := r.kept(e.tally); concerned {
					want.Scanned++
				}
			}
			for _, r := range k.faulty {
				ft, concerned := r.kept(e.tally)
				if !concerned {
					continue
				}
				want.Scanned++
				if ft.Failed {
					want.Errors++
				}
				switch {
				case !ft.unjudged() && ft.before != complied:
					t.Fatalf("%s is judged, and counts as what was known before", name)
				case ft.before == violated:
					want.ErrorsViolated++
				case ft.before == neverJudged:
					want.ErrorsUnknown++
				}
				if ft.Violations > 0 {
					want.Violating++
					want.Violations += int(ft.Violations)
				}
			}
		}
		if diff := cmp.Diff(want, e.tally.counts); diff != "" {
			t.Fatalf("the counts of %s drifted (-recount +kept):\n%s", name, diff)
		}
	}
}
