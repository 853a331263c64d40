// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// Scan is what verification asks of the scan.
type Scan interface {
	// Newcomers finds the objects that began to violate a policy since a moment, and says whether they are all.
	Newcomers(policyName string, since time.Time) (found []policy.Finding, all bool)
	// LatestPass is the number of the pass that has begun last.
	LatestPass() uint64
	// PassedSince says with an error which kind of a policy hasn't been gone through yet in a pass that began after
	// another one, by its number, and has such passes be made soon.
	PassedSince(policyName string, number uint64) error
	// Observes says with an error why it wouldn't be found, now, that an object began to violate a policy.
	Observes(policyName string) error
}

// Shown remembers of each write which pass of the scan had begun last when this process first saw that the rules that
// look objects of its kind up are shown it: a pass that begins later finds what it brings to others. Whoever remembers
// nothing waits for another pass.
type Shown struct {
	mu     sync.Mutex
	passes map[string]map[shownKey]uint64
}

type shownKey struct {
	uid     string
	written time.Time
}

// NewShown remembers no write yet.
func NewShown() *Shown { return &Shown{passes: map[string]map[shownKey]uint64{}} }

// Drop forgets the writes of a plan.
func (s *Shown) Drop(plan string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.passes, plan)
}

func (s *Shown) pass(plan string, key shownKey) (number uint64, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	number, known = s.passes[plan][key]
	return number, known
}

func (s *Shown) forget(plan string, key shownKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.passes[plan], key)
}

func (s *Shown) note(plan string, key shownKey, pass uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.passes[plan] == nil {
		s.passes[plan] = map[shownKey]uint64{}
	}
	s.passes[plan][key] = pass
}

// targetsObservable says with an error why nobody would know what writing some targets brings to other objects.
func (p *Pass) targetsObservable(batch []int) error {
	var refs []v1alpha1.ObjectReference
	for _, i := range batch {
		refs = append(refs, p.Records.Target(i).Object)
	}
	return p.observable(refs)
}

// awaitObservable has those of some prepared targets wait that nobody would know of what the objects that their fixes
// create bring to others.
func (p *Pass) awaitObservable(attempts []*fix.Attempt, records []v1alpha1.TargetRecord) {
	for n, a := range attempts {
		if records[n].State != v1alpha1.TargetIntent {
			continue
		}
		var created []v1alpha1.ObjectReference
		for _, w := range record.WritesOf(&records[n]) {
			if w.Action.Creates() {
				created = append(created, *w.Object)
			}
		}
		if err := p.observable(created); err != nil {
			records[n] = a.AwaitScan(err)
		}
	}
}

// observable says with an error why nobody would know what writing some objects brings to others: such writes would be
// undone in the end, and so aren't made.
func (p *Pass) observable(written []v1alpha1.ObjectReference) error {
	if p.Scan == nil || len(written) == 0 {
		return nil
	}
	var kinds []schema.GroupKind
	for _, ref := range written {
		if gk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind(); !slices.Contains(kinds, gk) {
			kinds = append(kinds, gk)
		}
	}
	return each(p.judgingBy(kinds), func(name string) error {
		err := p.Scan.Observes(name)
		if err == nil {
			err = p.Snapshot.Knows(name)
		}
		if err != nil {
			return fmt.Errorf("policy %s: %w", name, err)
		}
		return nil
	})
}

// scanned waits until the scan has gone through all that some policies judge, in passes that began after the rules of
// each were shown a target's writes: nil once it has, or had when the target was verified. However much changes
// meanwhile, the first such pass of each kind counts, but for those made while what a policy looks up wasn't known.
// Where none comes, nobody knows what the writes have brought to others, which is never a pass: the check waits for as
// long as for whatever can't be observed.
func (p *Pass) scanned(ctx context.Context, policies []string, uid string, rec *v1alpha1.TargetRecord,
	shown func(ctx context.Context, policies []string) error) *rollout.Check {
	if len(policies) == 0 || wasVerified(rec) {
		return nil
	}
	key, plan := shownKey{uid, lastIntent(rec)}, p.Remediation.Name
	if err := each(policies, p.Snapshot.Knows); err != nil {
		p.Shown.forget(plan, key) // what passed meanwhile may have judged nothing
		return unobserved("whether the write makes other objects violate a policy isn't known yet: %v", err)
	}
	pass, known := p.Shown.pass(plan, key)
	if !known {
		if err := shown(ctx, policies); err != nil {
			return unobserved("whether the write makes other objects violate a policy isn't known yet: %v", err)
		}
		pass = p.Scan.LatestPass()
		p.Shown.note(plan, key, pass)
	}
	var waits *rollout.Check
	for _, name := range policies { // all are asked, so that all passes are made
		if err := p.Scan.PassedSince(name, pass); err != nil && waits == nil {
			waits = unobserved("whether the write makes other objects violate policy %s isn't known yet: %v", name, err)
		}
	}
	return waits
}

// lastIntent is when the last of a target's writes was recorded, in UTC.
func lastIntent(rec *v1alpha1.TargetRecord) (last time.Time) {
	for _, w := range record.WritesOf(rec) {
		if w.IntentTime != nil && w.IntentTime.After(last) {
			last = w.IntentTime.UTC()
		}
	}
	return last
}

// writesShown waits a moment until what some policies look up is as new as a target and what its fix created. The error
// says what isn't.
func (p *Pass) writesShown(ctx context.Context, policies []string, obj *unstructured.Unstructured,
	rec *v1alpha1.TargetRecord) error {
	objects := []*unstructured.Unstructured{obj}
	for _, w := range record.WritesOf(rec) {
		if !w.Action.Creates() {
			continue
		}
		made, err := p.Targets.Read(ctx, *w.Object)
		switch kube.Classify(err) {
		case kube.OK:
			objects = append(objects, made)
		case kube.Gone: // which is found out by checkCreated
		default:
			return fmt.Errorf("what the fix created couldn't be read: %w", err)
		}
	}
	return p.until(ctx, func() error {
		return each(policies, func(name string) error { return p.Snapshot.Shows(name, objects...) })
	})
}

// each is the first error of some policies.
func each(policies []string, ask func(policyName string) error) error {
	for _, name := range policies {
		if err := ask(name); err != nil {
			return err
		}
	}
	return nil
}
