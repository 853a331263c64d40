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
			e.tally = newTally(d, old)
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
			x.newcomers.forget(name)
			x.suspects.forget(name)
		}
	}
	slices.Sort(removed)
	x.changes.notify(changed...)
	x.changes.notify(removed...)
	return byKind, removed
}

func (x *Index) kind(gk schema.GroupKind) *kindState {
	k := x.kinds[gk]
	if k == nil {
		k = &kindState{List: *NewList()}
		x.kinds[gk] = k
	}
	return k
}

// compare finds the policies whose verdict on an object changed, and among them
// those that it began to violate, or that were never judged before and violate. The first pass of a revision over a
// kind is no transition: nothing is known of before. After a change of waivers, what was found before it is; an object
// that no waiver covers any more doesn't begin by that. Nor is it one that an object can be judged again that violated
// before.
func (x *Index) compare(gk schema.GroupKind, k *kindState, key string, was, now *Record) (
	found []Transition, changed []string) {
	if was == now {
		return nil, nil
	}
	check := func(t *Tally) {
		e := x.entryOf(t)
		if e == nil || slices.Contains(changed, t.Policy) {
			return
		}
		old, concerned := was.kept(t)
		next, concerns := now.kept(t)
		if e.tally != t && !concerns { // judged under the waivers of now
			return
		}
		if old == next && concerned == concerns && sameObject(was, now, next) {
			return
		}
		changed = append(changed, t.Policy)
		if t.knew(gk, was) && begins(old, next) {
			one := transition(gk, key, now, t, old, next)
			one.PolicyUID, one.APIVersion, one.outdated = e.uid, k.apiVersion, e.tally != t
			found = append(found, one)
		}
	}
	was.tallies(check)
	now.tallies(check)
	return found, changed
}

// sameObject says that a faulty object wasn't replaced by another of its name.
func sameObject(was, now *Record, f Fault) bool { return f.Tally == nil || was.sameUID(now) }

// MarkListed marks a kind as listed and watched for the tallies of a finished pass.
func (x *Index) MarkListed(gk schema.GroupKind, tallies map[string]*Tally, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := x.kind(gk)
	k.problem, k.listedAt = "", now
	for _, t := range tallies {
		if !t.listed[gk] {
			t.listed[gk], t.listedFirst[gk] = true, now
		}
		x.changes.notify(t.Policy)
	}
}

// Resume clears a kind's problem: its watch goes on from where it broke off.
func (x *Index) Resume(gk schema.GroupKind) { x.setProblem(gk, "") }

// Fail says why a kind can't be listed or watched. What was known of it stays,
// but is no longer complete.
func (x *Index) Fail(gk schema.GroupKind, problem string) {
	x.passes.failed(gk)
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
	x.passes.drop(gk)
}
