package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/match"
)

// Waiver is why violations don't count: the PolicyException that covers the
// object.
type Waiver struct {
	// Namespace and Name name the PolicyException.
	Namespace, Name string
	// Reason is its spec.reason.
	Reason string
	// ExpiresAt is when the violations count again.
	ExpiresAt time.Time
}

// String names the exception: "shop/legacy-agent until 2027-03-31T00:00:00Z".
func (w *Waiver) String() string {
	return fmt.Sprintf("%s/%s until %s", w.Namespace, w.Name, w.ExpiresAt.UTC().Format(time.RFC3339))
}

// Enforced are the violations that count: none while they are waived.
func (r *Result) Enforced() []policy.Violation {
	if r.Waived != nil {
		return nil
	}
	return r.Violations
}

// exception is one PolicyException in the catalog. It is immutable.
type exception struct {
	waiver Waiver
	// identity tells this state of the exception from any other.
	identity string
	spec     v1alpha1.PolicyExceptionSpec
	// covers is nil when the exception can't be read: then problem says why, and it
	// waives nothing.
	covers  *match.Exception
	problem error
}

func newException(e *v1alpha1.PolicyException, controllerNamespace string) *exception {
	spec := e.Spec.DeepCopy()
	out := &exception{
		waiver:   Waiver{Namespace: e.Namespace, Name: e.Name, Reason: spec.Reason, ExpiresAt: spec.ExpiresAt.Time},
		identity: identityOf(e),
		spec:     *spec,
	}
	out.covers, out.problem = match.NewException(e, controllerNamespace)
	return out
}

func identityOf(e *v1alpha1.PolicyException) string {
	return fmt.Sprintf("%s/%s/%s/%d", e.Namespace, e.Name, e.UID, e.Generation)
}

// active says that the exception waives at the time given. It is asked for each
// verdict, so that none outlives its expiry.
func (e *exception) active(now time.Time) bool { return now.Before(e.waiver.ExpiresAt) }

// waivers are the exceptions by policy; for each, the one that lasts longest
// first.
type waivers map[string][]*exception

func newWaivers(exceptions map[types.NamespacedName]*exception) waivers {
	out := waivers{}
	for _, e := range exceptions {
		if e.covers == nil {
			continue
		}
		for _, name := range e.spec.Policies {
			out[name] = append(out[name], e)
		}
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b *exception) int {
			return cmp.Or(b.waiver.ExpiresAt.Compare(a.waiver.ExpiresAt), cmp.Compare(a.identity, b.identity))
		})
	}
	return out
}

// of is the waiver of a policy's violations on the judged object, or nil.
func (w waivers) of(policyName string, r *policy.Request) *Waiver {
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

// WaiverDigest identifies the exceptions of a policy that are active at the time
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
			if e.active(now) && (!found || e.waiver.ExpiresAt.Before(next)) {
				next, found = e.waiver.ExpiresAt, true
			}
		}
	}
	return next, found
}
