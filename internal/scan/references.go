// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/match"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
	"evenkeel.dev/evenkeel/internal/scan/listing"
)

// References tell that objects that policies refer to have changed.
type References interface {
	// Changed has a value after a change.
	Changed() <-chan struct{}
	// Take gives the keys of the references of which something has changed since it was asked last, with the namespaces
	// of the objects that have, as far as they are known and few.
	Take() map[string]inventory.Namespaces
	// TakeKnown gives the keys of those that weren't known and are by now, since it was asked last.
	TakeKnown() map[string]bool
	// States has a value after a kind has become known, or isn't any more, or for another reason.
	States() <-chan struct{}
}

const (
	// referenceDebounce is the least time from a change of what policies refer to until what
	// depends on it is judged anew.
	referenceDebounce = time.Second
	// referenceShare bounds how much of the time a kind is listed because of such changes: after a pass
	// that long, as a divisor, it isn't listed again for their sake. Partial passes have such a share of their own.
	referenceShare = 10
	// underwayPoll is how often it is looked whether a pass has ended that must before the next is asked for.
	underwayPoll = 100 * time.Millisecond
)

// DefaultListShare has a kind rest for as long as a pass took, so that who has changed a policy, or waits for a pass,
// has it within three times what it takes.
const DefaultListShare = 0.5

// rest is how long a kind rests after a pass that took so long, to be listed for that share of the time.
func (o *Options) rest(took time.Duration) time.Duration {
	return time.Duration(float64(took) * (1/o.ListShare - 1))
}

// referenceChanges are the changes of objects that policies refer to, until what depends on them has
// been judged anew.
type referenceChanges struct {
	from References
	// waiting are kinds to be judged anew, with when; errors are those of them on which some policy couldn't be
	// evaluated until now, and asked those of which policies have changed or somebody waits for a pass.
	waiting       map[schema.GroupKind]time.Time
	errors, asked map[schema.GroupKind]bool
	// partly are kinds of which only what lives in some namespaces is to be judged anew.
	partly map[schema.GroupKind]partly
	timer  clock.Timer
}

// partly is where a kind is to be judged anew, and when.
type partly struct {
	where inventory.Namespaces
	at    time.Time
}

func newReferenceChanges(from References) *referenceChanges {
	return &referenceChanges{from: from, waiting: map[schema.GroupKind]time.Time{},
		errors: map[schema.GroupKind]bool{}, asked: map[schema.GroupKind]bool{}, partly: map[schema.GroupKind]partly{}}
}

func (r *referenceChanges) changed() <-chan struct{} {
	if r == nil || r.from == nil {
		return nil
	}
	return r.from.Changed()
}

func (r *referenceChanges) states() <-chan struct{} {
	if r == nil || r.from == nil {
		return nil
	}
	return r.from.States()
}

// due tells that a kind's time has come; nothing is told while none waits.
func (r *referenceChanges) due() <-chan time.Time {
	if r == nil {
		return nil
	}
	return told(r.timer)
}

// relistReferring judges anew what depends on objects that have changed: of the kinds of the policies that refer to
// them, what lives in the same namespaces where the policies look no further, and else all; each kind for a small share
// of the time; at once what couldn't be judged until now; and in a moment what somebody waits for.
func (s *Scanner) relistReferring() {
	now := s.clock.Now()
	s.noteReferring(now)
	for gk := range s.index.TakeAsked() {
		s.references.ask(gk, now)
	}
	s.relistDue(now)
}

// noteReferring notes which kinds wait for that, and where.
func (s *Scanner) noteReferring(now time.Time) {
	changed, known := s.references.take()
	for gk, where := range s.referring(changed) {
		s.references.waitIn(gk, where, now.Add(referenceDebounce))
	}
	for gk := range s.referring(known) {
		s.references.wait(gk, now.Add(referenceDebounce))
		s.references.errors[gk] = true
	}
}

// take gives where something has changed of references, by their keys, and which have become known.
func (r *referenceChanges) take() (changed, known map[string]inventory.Namespaces) {
	if r.from == nil {
		return nil, nil
	}
	known = map[string]inventory.Namespaces{}
	for key := range r.from.TakeKnown() {
		known[key] = inventory.AllNamespaces()
	}
	return r.from.Take(), known
}

// referring are the kinds on which some verdict depends on such changes, with the namespaces of the objects.
func (s *Scanner) referring(changed map[string]inventory.Namespaces) map[schema.GroupKind]inventory.Namespaces {
	kinds := map[schema.GroupKind]inventory.Namespaces{}
	if len(changed) == 0 {
		return kinds
	}
	snapshot := s.catalog.Snapshot()
	for _, p := range snapshot.Policies() {
		for _, r := range snapshot.ReferencesOf(p.Name) {
			where, has := changed[r.Key()]
			if !has {
				continue
			}
			if !snapshot.LooksUpInOwnNamespace(p.Name, &r) {
				where = inventory.AllNamespaces()
			}
			if where = concerned(p, where); where.None() {
				continue
			}
			for _, gk := range listing.KindsOf(p) {
				kinds[gk] = kinds[gk].With(where)
			}
		}
	}
	return kinds
}

// concerned are those of some namespaces in which a policy judges anything.
func concerned(p *v1alpha1.ClusterRegoPolicy, where inventory.Namespaces) inventory.Namespaces {
	if where.All() {
		return where
	}
	named, err := match.Namespaces(&p.Spec.Match)
	if err != nil {
		return where
	}
	return inventory.InNamespaces(slices.DeleteFunc(where.Names(), func(name string) bool { return !named(name) })...)
}

// tellReferring has the status of all policies that refer to something be looked at.
func (s *Scanner) tellReferring() {
	snapshot := s.catalog.Snapshot()
	var names []string
	for _, p := range snapshot.Policies() {
		if snapshot.LooksUp(p.Name) {
			names = append(names, p.Name)
		}
	}
	s.index.Notify(names...)
}
