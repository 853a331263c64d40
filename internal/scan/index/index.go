// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// Index holds the verdict of every policy on every object scanned. It is safe
// for concurrent use. The scanner alone writes to it.
type Index struct {
	mu       sync.RWMutex
	policies map[string]*entry
	kinds    map[schema.GroupKind]*kindState

	// inForce is the revision that the catalog has in force now; it may be ahead
	// of the Index for a moment.
	inForce func(policy string) (revision string, ok bool)
	changes fanout
	// observe is told of objects that began to violate.
	observe   func([]Transition)
	newcomers newcomers
	// suspects are apart from them: after a restart they may be many, and drive no newcomer out.
	suspects newcomers
	passes   passes
	clock    clock.PassiveClock
}

// entry is a policy in force.
type entry struct {
	tally    *Tally
	uid      types.UID
	severity v1alpha1.Severity
	owner    string
}

// kindState is what is known of one kind.
type kindState struct {
	apiVersion string
	// List holds the records by KeyOf: every object that some policy concerns.
	List
	// problem says why the records aren't current; empty while they are.
	problem string
	// listedAt is when the last full pass ended.
	listedAt time.Time
}

// Transition is an object that began to violate a policy.
type Transition struct {
	Policy     string
	PolicyUID  types.UID
	Kind       schema.GroupKind
	APIVersion string
	Key        string
	UID        string
	// ResourceVersion is the object's when it was judged.
	ResourceVersion string
	Message         string
	// unjudged is when an object was found that couldn't be judged until it was found to violate: that it began to
	// isn't known. It is zero for one that did.
	unjudged time.Time
	// outdated says that it was judged under waivers that aren't in force any more: one of now may cover it.
	outdated bool
}

// Options are what an Index needs.
type Options struct {
	Clock clock.PassiveClock
	// InForce says which revision of a policy is in force now, so that a finding of an older one is never shown as
	// complete.
	InForce func(policy string) (revision string, ok bool)
}

// New makes an empty Index.
func New(o Options) *Index {
	return &Index{
		clock: o.Clock, passes: newPasses(),
		newcomers: newcomers{byPolicy: map[string]*latest{}}, suspects: newcomers{byPolicy: map[string]*latest{}},
		policies: map[string]*entry{},
		kinds:    map[schema.GroupKind]*kindState{},
		inForce:  o.InForce,
		observe:  func([]Transition) {},
	}
}

// Changes delivers, for every policy whose findings changed, an event whose
// object is a policy with just the name. Each call makes a subscription of its
// own. Deliveries coalesce and never hold up the scan; they begin when the
// scanner starts.
func (x *Index) Changes() <-chan event.GenericEvent { return x.changes.subscribe() }

// Deliver begins to deliver what Changes subscribed to, until ctx ends. It doesn't wait.
func (x *Index) Deliver(ctx context.Context) { x.changes.run(ctx) }

// Notify says that something about these policies changed that isn't a finding.
func (x *Index) Notify(policies ...string) { x.changes.notify(policies...) }

// OnTransitions has every object that begins to violate a policy told to observe. It must
// be called before anything is recorded.
func (x *Index) OnTransitions(observe func([]Transition)) { x.observe = observe }

// Findings returns the objects that violate the policy, sorted by kind,
// namespace and name, and the revision that judged them. complete is false
// unless that revision is the one in force and every kind of the policy has been
// listed under it and is being watched: then what isn't among the findings may
// violate all the same.
func (x *Index) Findings(policyName string) (findings []policy.Finding, revision string, complete bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	e, ok := x.policies[policyName]
	if !ok {
		return nil, "", false
	}
	return x.findingsOf(e.tally, all), e.tally.Revision, x.stateOf(e.tally) == v1alpha1.ScanComplete
}

func (x *Index) eachFault(t *Tally, visit func(schema.GroupKind, *kindState, string, *Record, Fault)) {
	for gk := range t.listed {
		k := x.kinds[gk]
		if k == nil {
			continue
		}
		for key, r := range k.faulty {
			for i := range r.faults {
				if r.faults[i].Tally == t {
					visit(gk, k, key, r, r.fault(i))
				}
			}
		}
	}
}

// stateOf says how far the figures of a tally can be trusted.
func (x *Index) stateOf(t *Tally) v1alpha1.ScanState {
	state := v1alpha1.ScanPending
	if current, ok := x.inForce(t.Policy); ok && current == t.Revision {
		state = v1alpha1.ScanComplete
	}
	for gk, listed := range t.listed {
		if k := x.kinds[gk]; k != nil && k.problem != "" {
			return v1alpha1.ScanIncomplete
		}
		if !listed {
			state = v1alpha1.ScanPending
		}
	}
	return state
}
