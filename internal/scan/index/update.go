// SPDX-License-Identifier: Apache-2.0

package index

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

// Definition is a policy in force, as far as the Index cares.
type Definition struct {
	Name, Revision string
	// Waivers identifies the waivers that are active.
	Waivers string
	// UID, Severity and Owner are the policy's.
	UID      types.UID
	Severity v1alpha1.Severity
	Owner    string
	// Kinds are those that the scan judges by the policy.
	Kinds []schema.GroupKind
}

// SetPolicies makes the given policies the ones in force and returns, for every
// kind, the tallies by policy that a pass over it must fill. A policy whose
// revision, waivers and kinds are the same keeps its tally; a changed one starts anew,
// and what was counted before no longer shows. removed are those gone.
func (x *Index) SetPolicies(defs []Definition) (byKind map[schema.GroupKind]map[string]*Tally, removed []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	before := x.policies
	x.policies = make(map[string]*entry, len(defs))
	byKind = map[schema.GroupKind]map[string]*Tally{}
	var changed []string
	for _, d := range defs {
		e := &entry{uid: d.UID, severity: d.Severity, owner: d.Owner}
		if old := before[d.Name]; old != nil && old.tally.sameAs(d) {
			e.tally = old.tally
		} else {
			e.tally = newTally(d)
			changed = append(changed, d.Name)
		}
		x.policies[d.Name] = e
		for gk := range e.tally.listed {
			if byKind[gk] == nil {
				byKind[gk] = map[string]*Tally{}
			}
			byKind[gk][d.Name] = e.tally
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
func (t *Tally) sameAs(d Definition) bool {
	if t.Revision != d.Revision || t.waivers != d.Waivers || len(t.listed) != len(d.Kinds) {
		return false
	}
	for _, gk := range d.Kinds {
		if _, ok := t.listed[gk]; !ok {
			return false
		}
	}
	return true
}

func (x *Index) kind(gk schema.GroupKind) *kindState {
	k := x.kinds[gk]
	if k == nil {
		k = &kindState{clean: map[string]*Record{}, faulty: map[string]*Record{}}
		x.kinds[gk] = k
	}
	return k
}

// Put records the verdict on one object in place of the one before. It does
// nothing for a kind that isn't scanned any more.
func (x *Index) Put(gk schema.GroupKind, j *Judged) {
	x.mu.Lock()
	k := x.kinds[gk]
	if k == nil {
		x.mu.Unlock()
		return
	}
	before := k.swap(j)
	found, changed := x.compare(gk, k, j.Key, before, j.Record)
	x.changes.notify(changed...)
	x.mu.Unlock()
	if len(found) > 0 {
		x.observe(found)
	}
}

// Remove forgets one object.
func (x *Index) Remove(gk schema.GroupKind, key string) { x.Put(gk, &Judged{Key: key}) }

// Replace records the result of a full pass: objects not among the items are gone.
func (x *Index) Replace(gk schema.GroupKind, apiVersion string, items []*Judged) {
	x.mu.Lock()
	k := x.kind(gk)
	before := *k
	k.apiVersion = apiVersion
	k.clean, k.faulty = map[string]*Record{}, map[string]*Record{}
	touched := map[string]bool{}
	var found []Transition
	compare := func(key string, was, now *Record) {
		f, changed := x.compare(gk, k, key, was, now)
		found = append(found, f...)
		for _, name := range changed {
			touched[name] = true
		}
	}
	for _, j := range items {
		was := before.take(j.Key)
		k.swap(j)
		was.add(-1)
		compare(j.Key, was, j.Record)
	}
	for _, gone := range []map[string]*Record{before.clean, before.faulty} {
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
func (k *kindState) take(key string) *Record {
	for _, m := range []map[string]*Record{k.clean, k.faulty} {
		if r := m[key]; r != nil {
			delete(m, key)
			return r
		}
	}
	return nil
}

// swap puts a record in place of the one before, which it returns, and keeps the
// counts in step.
func (k *kindState) swap(j *Judged) *Record {
	before := k.take(j.Key)
	before.add(-1)
	if j.Record == nil {
		return before
	}
	j.Record.add(1)
	if len(j.Record.faults) > 0 {
		k.faulty[j.Key] = j.Record
	} else {
		k.clean[j.Key] = j.Record
	}
	return before
}

// compare finds the policies whose verdict on an object changed, and among them
// those that it began to violate. The first pass of a revision over a kind is no
// transition: nothing is known of before.
func (x *Index) compare(gk schema.GroupKind, k *kindState, key string, was, now *Record) (
	found []Transition, changed []string) {
	if was == now {
		return nil, nil
	}
	check := func(t *Tally) {
		e := x.policies[t.Policy]
		if e == nil || e.tally != t || slices.Contains(changed, t.Policy) {
			return
		}
		old, concerned := was.FaultOf(t)
		next, concerns := now.FaultOf(t)
		if old == next && concerned == concerns && sameObject(was, now, next) {
			return
		}
		changed = append(changed, t.Policy)
		if next.Violations > 0 && old.Violations == 0 && t.listed[gk] {
			found = append(found, Transition{Policy: t.Policy, PolicyUID: e.uid, Kind: gk,
				APIVersion: k.apiVersion, Key: key, UID: now.uid, ResourceVersion: now.resourceVersion,
				Message: next.Message})
		}
	}
	was.tallies(check)
	now.tallies(check)
	return found, changed
}

// sameObject says that a faulty object wasn't replaced by another of its name.
func sameObject(was, now *Record, f Fault) bool { return f.Tally == nil || was.uid == now.uid }

// MarkListed marks a kind as listed and watched for the tallies of a finished pass.
func (x *Index) MarkListed(gk schema.GroupKind, tallies map[string]*Tally, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := x.kind(gk)
	k.problem, k.listedAt = "", now
	for _, t := range tallies {
		t.listed[gk] = true
		x.changes.notify(t.Policy)
	}
}

// Resume clears a kind's problem: its watch goes on from where it broke off.
func (x *Index) Resume(gk schema.GroupKind) { x.setProblem(gk, "") }

// Fail says why a kind can't be listed or watched. What was known of it stays,
// but is no longer complete.
func (x *Index) Fail(gk schema.GroupKind, problem string) {
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

// DropKind forgets a kind that no policy concerns any more.
func (x *Index) DropKind(gk schema.GroupKind) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.kinds, gk)
}
