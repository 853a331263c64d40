// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/match"
)

// Waiver is why violations don't count: the Waiver or ClusterWaiver that covers the
// object.
type Waiver struct {
	// Namespace and Name name it; a ClusterWaiver has no namespace.
	Namespace, Name string
	// Reason is its spec.reason.
	Reason string
	// ExpirationTime is when the violations count again.
	ExpirationTime time.Time
}

// Ref names the waiver by its kind: "Waiver shop/legacy-agent".
func (w *Waiver) Ref() string {
	name := strings.TrimPrefix(w.Namespace+"/"+w.Name, "/")
	return v1alpha1.WaiverKind(w.Namespace) + " " + name
}

// String names the waiver and its end: "Waiver shop/legacy-agent until
// 2027-03-31T00:00:00Z".
func (w *Waiver) String() string {
	return fmt.Sprintf("%s until %s", w.Ref(), w.ExpirationTime.UTC().Format(time.RFC3339))
}

// Enforced are the violations that count: none while they are waived.
func (r *Result) Enforced() []policy.Violation {
	if r.Waived != nil {
		return nil
	}
	return r.Violations
}

// waiver is one waiver in the catalog. It is immutable.
type waiver struct {
	waiver Waiver
	// identity tells this state of the waiver from any other.
	identity string
	terms    v1alpha1.WaiverTerms
	match    v1alpha1.ClusterWaiverMatch
	// covers is nil when the waiver can't be read, or is being deleted: then problem says why, and it
	// waives nothing.
	covers  *match.Waiver
	problem error
}

func newWaiver(w v1alpha1.AnyWaiver) *waiver {
	terms, covered := w.Terms().DeepCopy(), w.Covered()
	out := &waiver{
		waiver: Waiver{Namespace: w.GetNamespace(), Name: w.GetName(), Reason: terms.Reason,
			ExpirationTime: terms.ExpirationTime.Time},
		identity: identityOf(w),
		terms:    *terms,
		match:    *covered.DeepCopy(),
	}
	if w.GetDeletionTimestamp() != nil {
		out.problem = fmt.Errorf("%w; until it is gone it waits for its finalizers: %s", ErrWaiverDeleted,
			strings.Join(w.GetFinalizers(), ", "))
	} else if out.problem = wellFormed(w); out.problem == nil {
		out.covers, out.problem = match.NewWaiver(w)
	}
	return out
}

// ErrWaiverDeleted is the problem of a waiver that somebody has deleted: it waives nothing, however long a finalizer
// keeps it.
var ErrWaiverDeleted = errors.New("it is being deleted")

func identityOf(w v1alpha1.AnyWaiver) string {
	return fmt.Sprintf("%s/%s/%s/%d/%t", w.GetNamespace(), w.GetName(), w.GetUID(), w.GetGeneration(),
		w.GetDeletionTimestamp() != nil)
}

// active says that the waiver waives at the time given. It is asked for each
// verdict, so that none outlives its expiry.
func (e *waiver) active(now time.Time) bool { return now.Before(e.waiver.ExpirationTime) }

// byPolicy are the waivers by policy; for each, the one that lasts longest first.
type byPolicy map[string][]*waiver

func waiversByPolicy(all map[types.NamespacedName]*waiver) byPolicy {
	out := byPolicy{}
	for _, e := range all {
		if e.covers == nil {
			continue
		}
		for _, name := range e.terms.Policies {
			out[name] = append(out[name], e)
		}
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b *waiver) int {
			return cmp.Or(b.waiver.ExpirationTime.Compare(a.waiver.ExpirationTime), cmp.Compare(a.identity, b.identity))
		})
	}
	return out
}

// of is the waiver of a policy's violations on the judged object, or nil.
func (w byPolicy) of(policyName string, r *policy.Request) *Waiver {
	for _, e := range w[policyName] {
		if !e.active(r.Now) {
			return nil // those that follow have expired before
		}
		if e.covers.Covers(r) {
			return &e.waiver
		}
	}
	return nil
}

// WaiverDigest identifies the waivers of a policy that are active at the time
// given: verdicts of the same revision and digest are the same.
func (s *Snapshot) WaiverDigest(policyName string, now time.Time) string {
	var identities []string
	for _, e := range s.waivers[policyName] {
		if e.active(now) {
			identities = append(identities, e.identity)
		}
	}
	return strings.Join(identities, ",")
}

// NextExpiry is the earliest time after now at which a verdict may change because
// a waiver ends; false when none will.
func (s *Snapshot) NextExpiry(now time.Time) (next time.Time, found bool) {
	for _, list := range s.waivers {
		for _, e := range list {
			if e.active(now) && (!found || e.waiver.ExpirationTime.Before(next)) {
				next, found = e.waiver.ExpirationTime, true
			}
		}
	}
	return next, found
}
