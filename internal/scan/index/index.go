// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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
	observe func([]Transition)
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
	// clean and faulty hold the records by keyOf; together they are every object
	// that some policy concerns.
	clean, faulty map[string]*Record
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
}

// New makes an empty Index. inForce says which revision of a policy is in
// force now, so that a finding of an older one is never shown as complete.
func New(inForce func(policy string) (revision string, ok bool)) *Index {
	return &Index{
		policies: map[string]*entry{},
		kinds:    map[schema.GroupKind]*kindState{},
		inForce:  inForce,
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
	return x.findingsOf(e.tally), e.tally.Revision, x.stateOf(e.tally) == v1alpha1.ScanComplete
}

func (x *Index) findingsOf(t *Tally) []policy.Finding {
	out := make([]policy.Finding, 0, t.counts.Violating)
	x.eachFault(t, func(gk schema.GroupKind, k *kindState, key string, r *Record, f *Fault) {
		if f.Violations == 0 {
			return
		}
		namespace, name := SplitKey(key)
		out = append(out, policy.Finding{
			APIVersion: k.apiVersion, Kind: gk.Kind, Namespace: namespace, Name: name,
			UID: r.uid, ResourceVersion: r.resourceVersion,
			Violations: int(f.Violations), Message: f.Message, Fixable: f.Fixable,
		})
	})
	slices.SortFunc(out, func(a, b policy.Finding) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.APIVersion, b.APIVersion))
	})
	return out
}

func (x *Index) eachFault(t *Tally, visit func(schema.GroupKind, *kindState, string, *Record, *Fault)) {
	for gk := range t.listed {
		k := x.kinds[gk]
		if k == nil {
			continue
		}
		for key, r := range k.faulty {
			for i := range r.faults {
				if r.faults[i].Tally == t {
					visit(gk, k, key, r, &r.faults[i])
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
