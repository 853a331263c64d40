// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/override"
	"evenkeel.dev/evenkeel/internal/scan/index"
	"evenkeel.dev/evenkeel/internal/scan/listing"
)

const (
	// debounce is how long the scanner waits after a change of policies, so that
	// a bunch of them costs one pass.
	debounce = 100 * time.Millisecond
	// namespaceDebounce is the same for changes of namespaces, which are more
	// frequent and less urgent.
	namespaceDebounce = time.Second
	// expiryPoll is the longest that the scanner trusts a timer to tell the end of a
	// waiver: the time of day may be set.
	expiryPoll = time.Minute
	// completePoll is how often the catalog is asked whether it is complete.
	completePoll = 200 * time.Millisecond
)

// Catalog is what the package needs of catalog.Catalog.
type Catalog interface {
	Snapshot() *catalog.Snapshot
	Complete() bool
	Subscribe() <-chan struct{}
	Statuses
}

// Statuses say how policies, templates, waivers and overrides stand in the catalog.
type Statuses interface {
	Status(name string) (catalog.Status, bool)
	WaiverCatalog
	TemplateCatalog
	OverrideCatalog
}

// OverrideCatalog is what the status of overridden policies needs of catalog.Catalog.
type OverrideCatalog interface {
	override.Catalog
	// HoldsOverride says whether the catalog has an override of that name.
	HoldsOverride(name string) bool
}

// Scanner runs one kindScan for every kind that a policy in force concerns. It
// runs on the leader alone.
type Scanner struct {
	catalog    Catalog
	index      *index.Index
	client     dynamic.Interface
	resolver   *listing.Resolver
	informers  cache.Informers
	namespaces *namespaces
	references *referenceChanges
	metrics    *metrics
	clock      clock.WithTicker
	log        logr.Logger
	opts       Options

	// slots bounds the number of kinds listed at a time.
	slots   chan struct{}
	running sync.WaitGroup
	kinds   map[schema.GroupKind]*kindScan
	// synced is the time whose waivers the scan judges by.
	synced time.Time
	// needNamespace are the kinds on which some verdict depends on the namespace.
	needNamespace map[schema.GroupKind]bool
}

// NeedLeaderElection says that one replica scans.
func (s *Scanner) NeedLeaderElection() bool { return true }

// Start scans until ctx ends.
func (s *Scanner) Start(ctx context.Context) error {
	changed := s.catalog.Subscribe()
	s.index.Deliver(ctx)
	if err := s.namespaces.follow(ctx, s.informers); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	if !s.awaitCatalog(ctx) {
		return nil
	}
	s.sync(ctx)
	for ctx.Err() == nil {
		s.next(ctx, changed)
	}
	s.running.Wait()
	return nil
}

func (s *Scanner) next(ctx context.Context, changed <-chan struct{}) {
	expiry, stop := s.nextExpiry()
	defer stop()
	select {
	case <-ctx.Done():
	case <-expiry:
		s.sync(ctx)
	case <-changed:
		s.wait(ctx, debounce)
		s.sync(ctx)
	case <-s.namespaces.changed:
		s.wait(ctx, namespaceDebounce)
		s.relistNamespaced()
	case <-s.references.changed():
		s.relistReferring()
	case <-s.references.due():
		s.relistReferring()
	case <-s.index.Asked():
		s.relistReferring()
	case <-s.references.states():
		s.tellReferring()
	}
}

// nextExpiry tells when to look whether a waiver has ended since the last sync;
// nothing is told while there is none that could.
func (s *Scanner) nextExpiry() (at <-chan time.Time, stop func() bool) {
	next, found := s.catalog.Snapshot().NextExpiry(s.synced)
	if !found {
		return nil, func() bool { return false }
	}
	t := s.clock.NewTimer(min(next.Sub(s.clock.Now()), expiryPoll))
	return t.C(), t.Stop
}

// awaitCatalog waits until all policies are known, so that the first pass of a
// kind serves them all.
func (s *Scanner) awaitCatalog(ctx context.Context) bool {
	for !s.catalog.Complete() {
		s.wait(ctx, completePoll)
		if ctx.Err() != nil {
			return false
		}
	}
	return true
}

func (s *Scanner) wait(ctx context.Context, d time.Duration) {
	t := s.clock.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C():
	}
}

func (s *Scanner) sync(ctx context.Context) {
	snapshot := s.catalog.Snapshot()
	s.synced = s.clock.Now()
	s.noteReferring(s.synced) // the passes that begin here know what has changed until now
	policies := snapshot.Policies()
	defs, names := definitions(policies, snapshot, s.synced)
	s.needNamespace = listing.NamespaceKinds(snapshot)
	byKind, removed := s.index.SetPolicies(defs)
	for gk, k := range s.kinds {
		if byKind[gk] == nil {
			s.stopKind(gk, k)
		}
	}
	for gk, tallies := range byKind {
		next := &plan{policies: snapshot, tallies: tallies}
		k := s.kinds[gk]
		if k == nil {
			s.references.done(gk)
			s.startKind(ctx, gk, next)
			continue
		}
		if before := k.plan.Swap(next); !covers(before.tallies, tallies) {
			s.references.ask(gk, s.synced)
		}
	}
	s.relistDue(s.clock.Now())
	s.metrics.forgetPolicies(removed)
	// A definition that doesn't compile changes no figure, but its status.
	s.index.Notify(names...)
}

func (s *Scanner) startKind(ctx context.Context, gk schema.GroupKind, p *plan) {
	ctx, stop := context.WithCancel(ctx)
	k := &kindScan{kind: gk, scanner: s, again: make(chan struct{}, 1), stop: stop, done: make(chan struct{})}
	k.plan.Store(p)
	s.kinds[gk] = k
	s.running.Go(func() { k.run(ctx) })
}

func (s *Scanner) stopKind(gk schema.GroupKind, k *kindScan) {
	k.stop()
	<-k.done
	delete(s.kinds, gk)
	s.index.DropKind(gk)
	s.metrics.listFailures.DeleteLabelValues(gk.Group, gk.Kind)
}

// relistNamespaced relists the kinds on which some verdict depends on the labels of a namespace.
func (s *Scanner) relistNamespaced() {
	now := s.clock.Now()
	for gk := range s.needNamespace {
		s.references.wait(gk, now)
	}
	s.relistDue(now)
}

// covers says that a pass by the tallies before fills those of now too.
func covers(before, now map[string]*index.Tally) bool {
	for name, t := range now {
		if before[name] != t {
			return false
		}
	}
	return true
}

func definitions(policies []*v1alpha1.ClusterRegoPolicy, snapshot *catalog.Snapshot, now time.Time) (
	defs []index.Definition, names []string) {
	for _, p := range policies {
		names = append(names, p.Name)
		rev, ok := snapshot.Revision(p.Name)
		if !ok {
			continue
		}
		defs = append(defs, index.Definition{Name: p.Name, Revision: rev, Waivers: snapshot.WaiverDigest(p.Name, now),
			UID: p.UID, Severity: p.Spec.Severity, Owner: p.Spec.Owner, Kinds: listing.KindsOf(p)})
	}
	return defs, names
}
