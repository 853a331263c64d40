// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/directory"
)

// correctEvery is the least time between two times that drift of a source is
// corrected, so that a fight over a policy costs little.
const correctEvery = 5 * time.Second

// observation is what a pass has seen and done.
type observation struct {
	// asked says that the repository was asked, and fetched that it answered with
	// revision.
	asked, fetched bool
	revision       string
	// inventory are the source's policies in the cluster; nil when not known.
	inventory []string
	// made, changed and removed are the policies and strategies that were written.
	made, changed, removed []ref
	// kept counts policies and strategies that have left the repository and stay.
	kept int
	// inForce is the revision that was brought into force or found so; empty for none.
	inForce string
	// complete says that it is the repository's newest.
	complete bool
	// waits is when to look again, if that is sooner than the schedule says.
	waits time.Duration
}

func (s *observation) wrote() bool { return len(s.made)+len(s.changed)+len(s.removed) > 0 }

// sync does one pass. The failure is the source's and goes into its status; an
// error is the API server's, and the pass counts for nothing.
func (c *Controller) sync(ctx context.Context, src *v1alpha1.PolicySource) (observation, *failure, error) {
	var seen observation
	if !c.allowed.Has(src.Namespace) {
		return seen, stalled(v1alpha1.ReasonNamespaceNotAllowed,
			"sources of namespace %s aren't accepted, since a source rules the whole cluster: make it in %s, or start "+
				"the manager with --source-namespaces=%s",
			src.Namespace, c.allowed.Own, src.Namespace), nil
	}
	if src.Spec.Suspend {
		return seen, nil, nil
	}
	at, now := c.contents.of(src), c.clock.Now()
	var failed *failure
	switch {
	case due(src, now) || at.unread() && !waiting(src) || untilEarly(src, at, now) <= 0:
		if err := c.read(ctx, src, at, &seen); err != nil {
			failed = failureOf(err)
		}
		at.behind = failed != nil
	case at.unread():
		return seen, nil, nil
	case now.Sub(at.correctedAt) < correctEvery:
		seen.waits = correctEvery - now.Sub(at.correctedAt)
		return seen, nil, nil
	case at.pending():
		seen.waits = untilEarly(src, at, now)
		return c.await(ctx, src, at, seen)
	}
	return c.enforce(ctx, src, at, seen, failed)
}

// await keeps the good revision in force while another one waits until the repository is
// asked whether it still gives it. What is written of that one stays.
func (c *Controller) await(ctx context.Context, src *v1alpha1.PolicySource, at *remembered, seen observation) (
	observation, *failure, error) {
	if at.newest.partly || at.good == nil {
		return seen, nil, nil
	}
	failed, err := c.keep(ctx, src, at, &seen, nil)
	return seen, failed, err
}

// enforce brings the newest revision that could be read into force. Where that
// can't be, the last good one is kept as it is: whoever edits its policies
// meanwhile is corrected all the same.
func (c *Controller) enforce(ctx context.Context, src *v1alpha1.PolicySource, at *remembered, seen observation,
	failed *failure) (observation, *failure, error) {
	if at.newest != nil {
		err := c.bring(ctx, src, at.newest, &seen)
		if errors.Is(err, errConflict) {
			return seen, nil, err
		}
		if err == nil {
			at.good = at.newest
			seen.complete = !at.behind
			if seen.complete {
				seen.revision = at.newest.revision
			}
			c.noteDrift(at, &seen)
			return seen, failed, nil
		}
		why := failureOf(err)
		if failed == nil {
			failed = why
		}
		if !why.stalled {
			return seen, failed, nil // it may be half written; the next pass goes on
		}
	}
	if at.good == nil || at.good == at.newest {
		return seen, failed, nil
	}
	failed, err := c.keep(ctx, src, at, &seen, failed)
	return seen, failed, err
}

// keep has the last good revision in force as it should be. What is wrong with that
// is added to why it isn't a newer one.
func (c *Controller) keep(ctx context.Context, src *v1alpha1.PolicySource, at *remembered, seen *observation,
	failed *failure) (*failure, error) {
	want, problems := override(at.good.policies, src.Spec.Overrides)
	var wrong *failure
	if len(problems) > 0 && len(want) > 0 {
		// The overrides that are right count all the same: one of them may be urgent.
		wrong = withProblems(v1alpha1.ReasonNotCompiling, problems)
		at.good.unlessAdded(want, src.Spec.Overrides)
	}
	err := c.put(ctx, src, at.good, want, seen)
	if errors.Is(err, errConflict) {
		return failed, err
	}
	if err != nil {
		log.FromContext(ctx).Error(err, "the last good revision isn't as it should be", "revision",
			at.good.revision)
		wrong = wrong.and("", failureOf(err))
	}
	c.noteDrift(at, seen)
	if failed == nil || wrong == nil {
		return failed, nil // a pass between two looks at the repository tells nothing new
	}
	return failed.and(fmt.Sprintf("revision %s, which stays in force, isn't as it should be: ", at.good.revision),
		wrong), nil
}

// noteDrift notes when drift was corrected: policies were written though the
// repository wasn't asked.
func (c *Controller) noteDrift(at *remembered, seen *observation) {
	if seen.wrote() && !seen.asked {
		at.correctedAt = c.clock.Now()
		c.metrics.drifted(len(seen.made) + len(seen.changed) + len(seen.removed))
	}
}

func (c *Controller) bring(ctx context.Context, src *v1alpha1.PolicySource, wanted *content,
	seen *observation) (err error) {
	defer func() { wanted.partly = err != nil && !failureOf(err).stalled }()
	want, problems := override(wanted.policies, src.Spec.Overrides)
	if len(problems) > 0 && len(want) > 0 {
		return withProblems(v1alpha1.ReasonNotCompiling, problems)
	}
	return c.put(ctx, src, wanted, want, seen)
}

// put makes the cluster have these policies, which are a revision's with its overrides, and the
// revision's strategies.
func (c *Controller) put(ctx context.Context, src *v1alpha1.PolicySource, of *content,
	want []directory.Located, seen *observation) error {
	policies, strategies := objectsOf(want, of.strategies)
	// The cache tells that there is nothing to do; what there is to do the API
	// server tells itself, since the cache may be behind.
	p, s, err := c.changes(ctx, c.client, src, policies, strategies)
	if err == nil && !(p.nothing() && s.nothing()) {
		p, s, err = c.changes(ctx, c.reader, src, policies, strategies)
	}
	if err != nil {
		return err
	}
	if unclaimed := slices.Concat(p.unclaimed, s.unclaimed); len(unclaimed) > 0 {
		return withProblems(v1alpha1.ReasonPolicyConflict, unclaimed)
	}
	if why := tooManyRemoved(src, p, of.revision); why != nil {
		return why
	}
	inventory := make([]string, 0, len(policies))
	for _, policy := range policies {
		inventory = append(inventory, policy.name)
	}
	if !prunes(src) {
		for _, left := range p.remove {
			inventory = append(inventory, left.GetName())
		}
		slices.Sort(inventory)
		seen.kept, p.remove, s.remove = len(p.remove)+len(s.remove), nil, nil
	}
	// A strategy is there before the policies that name it, and goes after them.
	all := &changes{write: append(s.write, p.write...), remove: append(p.remove, s.remove...), made: s.made}
	maps.Copy(all.made, p.made)
	writes := &applier{client: c.client, owner: ownerOf(src), revision: of.revision}
	if err := writes.apply(ctx, all); err != nil {
		return err
	}
	of.inForce, of.overrides = want, src.Spec.Overrides
	seen.inventory, seen.inForce = inventory, of.revision
	seen.made, seen.changed, seen.removed = all.refs()
	return nil
}

// changes compares the policies and strategies of a revision with those that a reader gives.
func (c *Controller) changes(ctx context.Context, reader client.Reader, src *v1alpha1.PolicySource,
	policies, strategies []object) (ofPolicies, ofStrategies *changes, err error) {
	live, shared := &v1alpha1.ClusterRegoPolicyList{}, &v1alpha1.RemediationStrategyList{}
	if err := reader.List(ctx, live); err != nil {
		return nil, nil, fmt.Errorf("list policies: %w", err)
	}
	if err := reader.List(ctx, shared); err != nil {
		return nil, nil, fmt.Errorf("list strategies: %w", err)
	}
	ofPolicies, err = changesOf(policies, pointers(live.Items), ownerOf(src), src.Status.Inventory)
	if err != nil {
		return nil, nil, err
	}
	ofStrategies, err = changesOf(strategies, pointers(shared.Items), ownerOf(src), nil)
	return ofPolicies, ofStrategies, err
}
