// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

// definition is a policy in force, as far as the Index cares.
type definition struct {
	name, revision string
	// waivers identifies the waivers that are active.
	waivers  string
	uid      types.UID
	severity v1alpha1.Severity
	owner    string
	kinds    []schema.GroupKind
}

// setPolicies makes the given policies the ones in force and returns, for every
// kind, the tallies by policy that a pass over it must fill. A policy whose
// revision, waivers and kinds are the same keeps its tally; a changed one starts anew,
// and what was counted before no longer shows. removed are those gone.
func (x *Index) setPolicies(defs []definition) (byKind map[schema.GroupKind]map[string]*tally, removed []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	before := x.policies
	x.policies = make(map[string]*entry, len(defs))
	byKind = map[schema.GroupKind]map[string]*tally{}
	var changed []string
	for _, d := range defs {
		e := &entry{uid: d.uid, severity: d.severity, owner: d.owner}
		if old := before[d.name]; old != nil && old.tally.sameAs(d) {
			e.tally = old.tally
		} else {
			e.tally = newTally(d)
			changed = append(changed, d.name)
		}
		x.policies[d.name] = e
		for gk := range e.tally.listed {
			if byKind[gk] == nil {
				byKind[gk] = map[string]*tally{}
			}
			byKind[gk][d.name] = e.tally
		}
	}
	for name := range before {
		if x.policies[name] == nil {
			removed = append(removed, name)
		}
	}
	slices.Sort(removed)
	x.changes.notify(changed...)
	x.changes.notify(removed...)
	return byKind, removed
}

// sameAs says that the definition gives the same verdicts on the same kinds.
func (t *tally) sameAs(d definition) bool {
	if t.revision != d.revision || t.waivers != d.waivers || len(t.listed) != len(d.kinds) {
		return false
	}
	for _, gk := range d.kinds {
		if _, ok := t.listed[gk]; !ok {
			return false
		}
	}
	return true
}

func (x *Index) kind(gk schema.GroupKind) *kindState {
	k := x.kinds[gk]
	if k == nil {
		k = &kindState{clean: map[string]*record{}, faulty: map[string]*record{}}
		x.kinds[gk] = k
	}
	return k
}

// put records the verdict on one object in place of the one before. It does
// nothing for a kind that isn't scanned any more.
func (x *Index) put(gk schema.GroupKind, j *judged) {
	x.mu.Lock()
	k := x.kinds[gk]
	if k == nil {
		x.mu.Unlock()
		return
	}
	before := k.swap(j)
	found, changed := x.compare(gk, k, j.key, before, j.record)
	x.changes.notify(changed...)
	x.mu.Unlock()
	if len(found) > 0 {
		x.observe(found)
	}
}

// remove forgets one object.
func (x *Index) remove(gk schema.GroupKind, key string) { x.put(gk, &judged{key: key}) }

// replace records the result of a full pass: objects not among the items are gone.
func (x *Index) replace(gk schema.GroupKind, apiVersion string, items []*judged) {
	x.mu.Lock()
	k := x.kind(gk)
	before := *k
	k.apiVersion = apiVersion
	k.clean, k.faulty = map[string]*record{}, map[string]*record{}
	touched := map[string]bool{}
	var found []transition
	compare := func(key string, was, now *record) {
		f, changed := x.compare(gk, k, key, was, now)
		found = append(found, f...)
		for _, name := range changed {
			touched[name] = true
		}
	}
	for _, j := range items {
		was := before.take(j.key)
		k.swap(j)
		was.add(-1)
		compare(j.key, was, j.record)
	}
	for _, gone := range []map[string]*record{before.clean, before.faulty} {
		for key, was := range gone {
			was.add(-1)
			compare(key, was, nil)
		}
	}
	for name := range touched {
		x.changes.notify(name)
	}
	x.mu.Unlock()
	if len(found) > 0 {
		x.observe(found)
	}
}

// take removes the record of a key without counting it out, and returns it.
func (k *kindState) take(key string) *record {
	for _, m := range []map[string]*record{k.clean, k.faulty} {
		if r := m[key]; r != nil {
			delete(m, key)
			return r
		}
	}
	return nil
}

// swap puts a record in place of the one before, which it returns, and keeps the
// counts in step.
func (k *kindState) swap(j *judged) *record {
	before := k.take(j.key)
	before.add(-1)
	if j.record == nil {
		return before
	}
	j.record.add(1)
	if len(j.record.faults) > 0 {
		k.faulty[j.key] = j.record
	} else {
		k.clean[j.key] = j.record
	}
	return before
}

// compare finds the policies whose verdict on an object changed, and among them
// those that it began to violate. The first pass of a revision over a kind is no
// transition: nothing is known of before.
func (x *Index) compare(gk schema.GroupKind, k *kindState, key string, was, now *record) (
	found []transition, changed []string) {
	if was == now {
		return nil, nil
	}
	check := func(t *tally) {
		e := x.policies[t.policy]
		if e == nil || e.tally != t || slices.Contains(changed, t.policy) {
			return
		}
		old, concerned := was.faultOf(t)
		next, concerns := now.faultOf(t)
		if old == next && concerned == concerns && sameObject(was, now, next) {
			return
		}
		changed = append(changed, t.policy)
		if next.violations > 0 && old.violations == 0 && t.listed[gk] {
			found = append(found, transition{policy: t.policy, policyUID: e.uid, kind: gk,
				apiVersion: k.apiVersion, key: key, uid: now.uid, resourceVersion: now.resourceVersion,
				message: next.message})
		}
	}
	was.tallies(check)
	now.tallies(check)
	return found, changed
}

// sameObject says that a faulty object wasn't replaced by another of its name.
func sameObject(was, now *record, f fault) bool { return f.tally == nil || was.uid == now.uid }

// markListed marks a kind as listed and watched for the tallies of a finished pass.
func (x *Index) markListed(gk schema.GroupKind, tallies map[string]*tally, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := x.kind(gk)
	k.problem, k.listedAt = "", now
	for _, t := range tallies {
		t.listed[gk] = true
		x.changes.notify(t.policy)
	}
}

// resume clears a kind's problem: its watch goes on from where it broke off.
func (x *Index) resume(gk schema.GroupKind) { x.setProblem(gk, "") }

// fail says why a kind can't be listed or watched. What was known of it stays,
// but is no longer complete.
func (x *Index) fail(gk schema.GroupKind, problem string) {
	x.setProblem(gk, prose.Shorten(problem, 1024))
}

func (x *Index) setProblem(gk schema.GroupKind, problem string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := x.kind(gk)
	if k.problem == problem {
		return
	}
	k.problem = problem
	for name, e := range x.policies {
		if _, concerned := e.tally.listed[gk]; concerned {
			x.changes.notify(name)
		}
	}
}

// dropKind forgets a kind that no policy concerns any more.
func (x *Index) dropKind(gk schema.GroupKind) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.kinds, gk)
}
