// SPDX-License-Identifier: Apache-2.0

package index

import (
	"slices"
	"sync"
	"time"

	"evenkeel.dev/evenkeel/internal/policy"
)

// maxNewcomers bounds how many objects are remembered that began to violate a policy, the latest ones.
const maxNewcomers = 100

// newcomers are the objects that began to violate each policy lately, or that were found to when they could be judged
// for the first time. A restart forgets them.
type newcomers struct {
	mu       sync.Mutex
	byPolicy map[string]*latest
}

// latest are the objects that began to violate one policy, each once.
type latest struct {
	all []newcomer
	// lost is when the last one began that isn't remembered any more; zero for none. known is the earliest of theirs.
	lost, known time.Time
}

// newcomer is an object that violates since a time. One that couldn't be judged until then may have violated before;
// known is when that was found, and who has written something earlier learns nothing of it. For others it is zero.
type newcomer struct {
	at, known time.Time
	finding   policy.Finding
}

func (n *newcomers) add(found []Transition, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range found {
		namespace, name := SplitKey(t.Key)
		of := n.byPolicy[t.Policy]
		if of == nil {
			of = &latest{}
			n.byPolicy[t.Policy] = of
		}
		of.add(newcomer{now, t.unjudged, policy.Finding{APIVersion: t.APIVersion, Kind: t.Kind.Kind,
			Namespace: namespace, Name: name, UID: t.UID, ResourceVersion: t.ResourceVersion, Message: t.Message}})
	}
}

// add takes an object up in place of the same one that began before: one that flaps drives no other out.
func (l *latest) add(one newcomer) {
	l.all = slices.DeleteFunc(l.all, func(other newcomer) bool {
		return other.finding.UID == one.finding.UID && other.finding.Namespace == one.finding.Namespace &&
			other.finding.Name == one.finding.Name && other.finding.Kind == one.finding.Kind
	})
	l.all = append(l.all, one)
	if over := len(l.all) - maxNewcomers; over > 0 {
		gone := l.all[over-1]
		if l.lost.IsZero() || gone.known.Before(l.known) {
			l.known = gone.known
		}
		l.lost = gone.at
		l.all = l.all[over:]
	}
}

func (n *newcomers) forget(policyName string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.byPolicy, policyName)
}

// Newcomers are the objects that began to violate a policy since a moment, each once, the latest first: the last
// hundred at most, and only those that this process has seen begin. After them come as many at most that couldn't be
// judged at that moment, had never been since this process listed them, and were found to violate since. all says that
// none of them was too much. They may comply again by now.
func (x *Index) Newcomers(policyName string, since time.Time) (found []policy.Finding, all bool) {
	found, all = x.newcomers.since(policyName, since)
	suspects, allOfThem := x.suspects.since(policyName, since)
	return append(found, suspects...), all && allOfThem
}

func (n *newcomers) since(policyName string, since time.Time) (found []policy.Finding, all bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	of := n.byPolicy[policyName]
	if of == nil {
		return nil, true
	}
	for _, n := range slices.Backward(of.all) {
		if n.at.Before(since) {
			break
		}
		if !since.Before(n.known) {
			found = append(found, n.finding)
		}
	}
	return found, of.lost.IsZero() || of.lost.Before(since) || since.Before(of.known)
}

// began remembers objects that began to violate, and apart from them those that were judged for the first time. It
// tells of those that began under the waivers of now.
func (x *Index) began(found []Transition) {
	var began, suspects, told []Transition
	for _, t := range found {
		switch {
		case !t.unjudged.IsZero():
			suspects = append(suspects, t)
			continue
		case !t.outdated:
			told = append(told, t)
		}
		began = append(began, t)
	}
	now := x.clock.Now()
	x.suspects.add(suspects, now)
	x.newcomers.add(began, now)
	if len(told) > 0 {
		x.observe(told)
	}
}
