// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"cmp"
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
	// observe is told of objects that began to violate; set before the scan starts.
	observe func([]transition)
}

// entry is a policy in force.
type entry struct {
	tally    *tally
	uid      types.UID
	severity v1alpha1.Severity
	owner    string
}

// kindState is what is known of one kind.
type kindState struct {
	apiVersion string
	// clean and faulty hold the records by keyOf; together they are every object
	// that some policy concerns.
	clean, faulty map[string]*record
	// problem says why the records aren't current; empty while they are.
	problem string
	// listedAt is when the last full pass ended.
	listedAt time.Time
}

// transition is an object that began to violate a policy.
type transition struct {
	policy     string
	policyUID  types.UID
	kind       schema.GroupKind
	apiVersion string
	key        string
	uid        string
	// resourceVersion is the object's when it was judged.
	resourceVersion string
	message         string
}

// NewIndex makes an empty Index. inForce says which revision of a policy is in
// force now, so that a finding of an older one is never shown as complete.
func NewIndex(inForce func(policy string) (revision string, ok bool)) *Index {
	return &Index{
		policies: map[string]*entry{},
		kinds:    map[schema.GroupKind]*kindState{},
		inForce:  inForce,
		observe:  func([]transition) {},
	}
}

// Changes delivers, for every policy whose findings changed, an event whose
// object is a policy with just the name. Each call makes a subscription of its
// own. Deliveries coalesce and never hold up the scan; they begin when the
// scanner starts.
func (x *Index) Changes() <-chan event.GenericEvent { return x.changes.subscribe() }

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
	return x.findingsOf(e.tally), e.tally.revision, x.stateOf(e.tally) == v1alpha1.ScanComplete
}

func (x *Index) findingsOf(t *tally) []policy.Finding {
	out := make([]policy.Finding, 0, t.counts.Violating)
	x.eachFault(t, func(gk schema.GroupKind, k *kindState, key string, r *record, f *fault) {
		if f.violations == 0 {
			return
		}
		namespace, name := splitKey(key)
		out = append(out, policy.Finding{
			APIVersion: k.apiVersion, Kind: gk.Kind, Namespace: namespace, Name: name,
			UID: r.uid, ResourceVersion: r.resourceVersion,
			Violations: int(f.violations), Message: f.message, Fixable: f.fixable,
		})
	})
	slices.SortFunc(out, func(a, b policy.Finding) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.APIVersion, b.APIVersion))
	})
	return out
}

func (x *Index) eachFault(t *tally, visit func(schema.GroupKind, *kindState, string, *record, *fault)) {
	for gk := range t.listed {
		k := x.kinds[gk]
		if k == nil {
			continue
		}
		for key, r := range k.faulty {
			for i := range r.faults {
				if r.faults[i].tally == t {
					visit(gk, k, key, r, &r.faults[i])
				}
			}
		}
	}
}

// stateOf says how far the figures of a tally can be trusted.
func (x *Index) stateOf(t *tally) v1alpha1.ScanState {
	state := v1alpha1.ScanPending
	if current, ok := x.inForce(t.policy); ok && current == t.revision {
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
