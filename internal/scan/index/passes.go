// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/internal/prose"
)

// passes numbers the full passes over kinds in the order in which they begin, so that whoever has written something
// can wait for one that began afterwards, whatever the clock says. A restart begins anew: then nothing has been passed.
type passes struct {
	mu     sync.Mutex
	latest uint64
	// begun are the numbers of the latest pass over each kind that has begun, and ended the latest that has ended.
	begun map[schema.GroupKind]uint64
	ended map[schema.GroupKind]ended
	// empty are the kinds of which the latest pass found that nothing is stored, while it is the latest.
	empty map[schema.GroupKind]bool
	// asked are the kinds of which a pass is waited for, and wake has a value after one was asked for.
	asked map[schema.GroupKind]bool
	wake  chan struct{}
}

// ended is a pass that is over. One that has found objects counts for the policies that judged them, as they were then;
// one that has found that nothing is stored, for all.
type ended struct {
	number  uint64
	judging map[string]*Tally
	empty   bool
}

func (e ended) counts(t *Tally, since uint64) bool {
	return e.number > since && (e.empty || e.judging[t.Policy] == t)
}

func newPasses() passes {
	return passes{begun: map[schema.GroupKind]uint64{}, ended: map[schema.GroupKind]ended{},
		empty: map[schema.GroupKind]bool{}, asked: map[schema.GroupKind]bool{}, wake: make(chan struct{}, 1)}
}

// BeginPass gives the number of a pass over a kind that begins. All that it judges, it judges after that. One that
// fails is begun anew until it has ended, or the kind is dropped.
func (x *Index) BeginPass(gk schema.GroupKind) uint64 {
	x.passes.mu.Lock()
	defer x.passes.mu.Unlock()
	x.passes.latest++
	x.passes.begun[gk] = x.passes.latest
	delete(x.passes.empty, gk)
	return x.passes.latest
}

// EndPass says that all that a pass over a kind has found by some tallies is recorded.
func (x *Index) EndPass(gk schema.GroupKind, tallies map[string]*Tally, number uint64) {
	x.passes.end(gk, ended{number: number, judging: tallies})
}

// EndEmptyPass says that a kind couldn't be listed in a pass, since the API server stores nothing of it.
func (x *Index) EndEmptyPass(gk schema.GroupKind, number uint64) {
	x.passes.end(gk, ended{number: number, empty: true})
}

func (p *passes) end(gk schema.GroupKind, e ended) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended[gk] = e
	if e.empty {
		p.empty[gk] = true
	}
}

func (p *passes) failed(gk schema.GroupKind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.empty, gk)
}

// LatestPass is the number of the pass that has begun last; 0 for none.
func (x *Index) LatestPass() uint64 {
	x.passes.mu.Lock()
	defer x.passes.mu.Unlock()
	return x.passes.latest
}

// errNotScanned means that the scan hasn't taken up a policy yet.
var errNotScanned = errors.New("the scan hasn't taken up the policy yet")

// PassedSince says with an error which kind of a policy hasn't been gone through yet, by the policy's revision and
// waivers of now, in a pass that began after another one, by its number, or that what the policy looks up wasn't known
// when some objects were to be judged, and asks for such passes.
func (x *Index) PassedSince(policyName string, number uint64) error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	e, ok := x.policies[policyName]
	if !ok {
		return errNotScanned
	}
	missing := x.passes.missing(e.tally, number)
	switch {
	case e.tally.unknown > 0: // known again as this may be by now, what they violate isn't found yet
		x.passes.askAll(e.tally)
		return fmt.Errorf("%s couldn't be judged in the latest scan: what the policy looks up wasn't known",
			prose.Count(e.tally.unknown, "object"))
	case len(missing) == 0:
		return nil
	}
	slices.SortFunc(missing, func(a, b schema.GroupKind) int { return cmp.Compare(a.String(), b.String()) })
	text := "the scan hasn't gone through " + missing[0].String() + " since"
	if k := x.kinds[missing[0]]; k != nil && k.problem != "" {
		text += ": " + prose.Shorten(k.problem, MaxMessage)
	}
	if more := len(missing) - 1; more > 0 {
		return fmt.Errorf("%s, nor through %s", text, prose.Count(more, "other kind"))
	}
	return errors.New(text)
}

// Observes says with an error why the scan wouldn't find, now, that an object began to violate a policy: it hasn't gone
// through one of its kinds, or can't any more.
func (x *Index) Observes(policyName string) error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	e, ok := x.policies[policyName]
	if !ok {
		return errNotScanned
	}
	var unseen []string
	for gk, listed := range e.tally.listed {
		k := x.kinds[gk]
		switch {
		case listed && (k == nil || k.problem == ""), x.passes.isEmpty(gk):
		case k == nil || k.problem == "":
			unseen = append(unseen, "the scan hasn't gone through "+gk.String()+" yet")
		default:
			unseen = append(unseen, k.problem)
		}
	}
	if len(unseen) == 0 {
		return nil
	}
	return errors.New(prose.Shorten(slices.Min(unseen), MaxMessage))
}

func (p *passes) isEmpty(gk schema.GroupKind) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.empty[gk]
}

// missing are those of a tally's kinds that no pass has gone through by it that began after another one; where none is
// under way, one is asked for.
func (p *passes) missing(t *Tally, number uint64) (missing []schema.GroupKind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for gk := range t.listed {
		latest := p.ended[gk]
		if latest.counts(t, number) {
			continue
		}
		missing = append(missing, gk)
		p.ask(gk, number)
	}
	return missing
}

// askAll asks for a pass over each kind of a tally of which none is under way.
func (p *passes) askAll(t *Tally) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for gk := range t.listed {
		p.ask(gk, 0)
	}
}

// ask asks for a pass over a kind, unless one is under way that began after another one.
func (p *passes) ask(gk schema.GroupKind, number uint64) {
	if p.begun[gk] > max(number, p.ended[gk].number) {
		return
	}
	p.asked[gk] = true
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Asked has a value after passes were asked for; TakeAsked says over which kinds.
func (x *Index) Asked() <-chan struct{} { return x.passes.wake }

// TakeAsked gives the kinds that passes were asked for since it was called last.
func (x *Index) TakeAsked() map[schema.GroupKind]bool {
	x.passes.mu.Lock()
	defer x.passes.mu.Unlock()
	taken := x.passes.asked
	x.passes.asked = map[schema.GroupKind]bool{}
	return taken
}

func (p *passes) drop(gk schema.GroupKind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.begun, gk)
	delete(p.ended, gk)
	delete(p.empty, gk)
	delete(p.asked, gk)
}
