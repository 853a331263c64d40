// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/match"
	"evenkeel.dev/evenkeel/internal/policy/override"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
	"evenkeel.dev/evenkeel/internal/policy/strategy"
)

// Options tune a Catalog.
type Options struct {
	// Width is how many evaluations that take long may be at work at once. Default:
	// one for each processor, at least two.
	Width int
	// Clock tells how much of a request's time is left. Default: the real one.
	Clock clock.PassiveClock
	// TimeLimit is how long one policy may take for one object. Default:
	// rego.DefaultTimeLimit.
	TimeLimit time.Duration
	// Engine evaluates the rules. Default: rego.CompiledEngine.
	Engine rego.Engine
	// Inventory keeps the objects that policies refer to. Default: none are known, so that policies that refer to
	// some can't be evaluated.
	Inventory Inventory
}

// Status says how a policy stands in the catalog.
type Status struct {
	// Revision is in force; empty when the policy has never compiled.
	Revision string
	// Generation is that of the definition in force; 0 when there is none.
	Generation int64
	// InForce is what the definition in force does, by its override if there is one; nil when
	// there is none.
	InForce *v1alpha1.PolicyInForce
	// Override is what a PolicyOverride makes of it now; nil while none is in force.
	Override *override.Override
	// Unresolved says why the strategy of the definition in force isn't known, so that
	// nothing is remediated; nil when it is.
	Unresolved *strategy.Problem
	// References are what the rules may look up, and Unknown those of them whose objects aren't known, as this
	// process sees it.
	References []inventory.Reference
	Unknown    []inventory.Unknown
	// Ahead is the newest definition while it waits for what it refers to; nil when it doesn't.
	Ahead *Ahead
	// Err says why the newest definition isn't in force; nil when it is, or is ahead. A
	// *rego.CompileError in its chain has the places.
	Err error
}

// Catalog holds the policies in force, and the waivers from them. Reading takes
// no lock.
type Catalog struct {
	limit     time.Duration
	engine    rego.Engine
	inventory Inventory
	lane      *rego.Lane
	clock     clock.PassiveClock
	// evaluations are counted by what evaluated the rules.
	evaluations *prometheus.CounterVec
	snapshot    atomic.Pointer[Snapshot]
	complete    atomic.Bool

	// mu is held by writers, over compiling too, so that a later definition
	// never loses to an earlier one.
	mu          sync.Mutex
	waivers     map[types.NamespacedName]*waiver
	strategies  strategies
	subscribers []chan struct{}
}

// New makes an empty catalog.
func New(opts Options) *Catalog {
	if opts.TimeLimit <= 0 {
		opts.TimeLimit = rego.DefaultTimeLimit
	}
	if opts.Width <= 0 {
		opts.Width = max(runtime.GOMAXPROCS(0), 2)
	}
	if opts.Engine == "" {
		opts.Engine = rego.CompiledEngine
	}
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	if opts.Inventory == nil {
		opts.Inventory = noInventory{}
	}
	c := &Catalog{limit: opts.TimeLimit, engine: opts.Engine, inventory: opts.Inventory,
		lane: rego.NewLane(opts.Width), clock: opts.Clock, evaluations: newEvaluations(),
		waivers: map[types.NamespacedName]*waiver{}, strategies: strategies{}}
	c.snapshot.Store(c.with(&match.Index{}, map[string]*entry{}, nil, nil))
	return c
}

// Snapshot is the catalog as it is now.
func (c *Catalog) Snapshot() *Snapshot { return c.snapshot.Load() }

// Set puts a definition in force, compiling it when its revision is new. Where what its
// rules look up is still being listed, the revision before it stays in force until then: see Advance. When it
// can't be compiled, the last good revision stays and the error, which Status keeps, says
// why. The definition is copied.
func (c *Catalog) Set(p *v1alpha1.ClusterRegoPolicy) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.snapshot.Load().entries[p.Name]
	if old != nil && old.latest().same(p) {
		return old.latest().problem
	}
	before := c.snapshot.Load()
	changed := next(old, p, before.templates, c.strategies, c.engine)
	entries := maps.Clone(before.entries)
	entries[p.Name] = c.waiting(old, changed)
	if err := c.swap(entries, before.templates); err != nil {
		return err
	}
	return changed.problem
}

// Delete takes a policy out of force; unknown names are ignored.
func (c *Catalog) Delete(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.snapshot.Load()
	entries := maps.Clone(before.entries)
	if _, known := entries[name]; !known {
		return
	}
	delete(entries, name)
	c.evaluations.DeletePartialMatch(prometheus.Labels{"policy": name})
	// What is left was indexed before, so it can be again.
	_ = c.swap(entries, before.templates)
}

// swap puts the entries in force at once, with the templates by which they were made, and
// tells the subscribers.
func (c *Catalog) swap(entries map[string]*entry, templates templates) error {
	definitions := make([]*v1alpha1.ClusterRegoPolicy, 0, len(entries))
	for _, e := range entries {
		if definition := e.indexed(); definition != nil {
			definitions = append(definitions, definition)
		}
	}
	index, err := match.NewIndex(definitions)
	if err != nil {
		return fmt.Errorf("index the policies: %w", err)
	}
	now := c.with(index, entries, templates, c.snapshot.Load().waivers)
	now.overrides = c.snapshot.Load().overrides
	c.publish(now)
	return nil
}

func (c *Catalog) with(index *match.Index, entries map[string]*entry, templates templates, w byPolicy) *Snapshot {
	return &Snapshot{index: index, entries: entries, templates: templates, waivers: w,
		strategies: maps.Clone(c.strategies), limit: c.limit, inventory: c.inventory, lane: c.lane, clock: c.clock,
		evaluations: c.evaluations}
}

func (c *Catalog) publish(s *Snapshot) {
	c.snapshot.Store(s)
	for _, subscriber := range c.subscribers {
		select {
		case subscriber <- struct{}{}:
		default:
		}
	}
}

// Status says how a policy stands; false when the catalog doesn't know it.
func (c *Catalog) Status(name string) (Status, bool) {
	e, ok := c.snapshot.Load().entries[name]
	if !ok {
		return Status{}, false
	}
	status := Status{Revision: e.revision(), Err: e.problem, Unresolved: e.unresolved, Ahead: c.aheadOf(e),
		Override: e.overridden(c.snapshot.Load().overrides[name], c.clock.Now())}
	if e.compiled != nil {
		status.Generation = e.compiled.Policy().Generation
		status.InForce = inForce(&e.compiled.Policy().Spec)
		status.References = e.compiled.References()
		status.Unknown = c.inventory.Unknown(status.References)
	}
	if status.InForce != nil && status.Override != nil {
		status.InForce.AdmissionAction = status.Override.Action
	}
	return status, true
}

// MarkComplete says that every policy and waiver that existed at the start has
// been set.
func (c *Catalog) MarkComplete() { c.complete.Store(true) }

// Poll is how often to look, at start, whether the catalog is complete.
const Poll = 500 * time.Millisecond

// Complete says that the catalog holds all policies and waivers. Before that no
// verdict of it is a pass: policies may be missing.
func (c *Catalog) Complete() bool { return c.complete.Load() }

// Check is a readiness check: nil once the catalog is complete.
func (c *Catalog) Check(*http.Request) error {
	if !c.Complete() {
		return errors.New("the policy catalog isn't complete yet: the initial list of policies is being compiled")
	}
	return nil
}

// Subscribe gives a channel that gets a value after each change. Changes that
// come faster than they are read are told once.
func (c *Catalog) Subscribe() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	subscriber := make(chan struct{}, 1)
	c.subscribers = append(c.subscribers, subscriber)
	return subscriber
}
