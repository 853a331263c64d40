// SPDX-License-Identifier: Apache-2.0

package override

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

// Override is what a PolicyOverride makes of its policy while it is in force.
type Override struct {
	// Declared is what the policy itself asks for, and Action what admission does in its
	// place: the same, or what is softer.
	Declared, Action v1alpha1.AdmissionAction
	// Until is when the policy is enforced as it declares again.
	Until time.Time
	// User and Reason are of the request that the override stands on.
	User, Reason string
}

// Softens says whether admission does less than the policy declares.
func (o *Override) Softens() bool { return o.Action != o.Declared }

// String says what is so, until when, and who has asked for it: "admission action Deny is
// overridden to Warn until 2027-03-31T00:00:00Z by jane (INC-42)".
func (o *Override) String() string {
	what := fmt.Sprintf("admission action %s is overridden to %s", o.Declared, o.Action)
	if !o.Softens() {
		what = fmt.Sprintf("admission action %s stays as it is, and no write of its plans begins,", o.Declared)
	}
	return fmt.Sprintf("%s until %s by %s (%s)", what, o.UntilText(), prose.OneLine(o.User),
		prose.OneLine(o.Reason))
}

// UntilText is when the override ends, as people and tools read it.
func (o *Override) UntilText() string { return o.Until.UTC().Format(time.RFC3339) }

// Policy is what an override has to know of its policy.
type Policy struct {
	// UID is that of the policy as it is stored.
	UID types.UID
	// Declared is the admission action of the definition in force.
	Declared v1alpha1.AdmissionAction
}

// InForce is what an override makes of its policy at a time; nil while it isn't in force,
// or where there is none: o may be nil.
func InForce(o *v1alpha1.PolicyOverride, p Policy, now time.Time) *Override {
	if o == nil || why(o, p.UID, now) != v1alpha1.ReasonAccepted {
		return nil
	}
	asked := o.Asked()
	return &Override{Declared: p.Declared, Action: Softer(p.Declared, o.Spec.AdmissionAction), Until: ends(o, asked),
		User: asked.User, Reason: asked.Reason}
}

// why says how an override stands with a policy of that uid, "" for no policy:
// ReasonAccepted, or the reason for which it isn't in force.
func why(o *v1alpha1.PolicyOverride, uid types.UID, now time.Time) string {
	asked := o.Asked()
	switch {
	case v1alpha1.Malformed(o) != "":
		return v1alpha1.ReasonInvalid
	case o.DeletionTimestamp != nil:
		return v1alpha1.ReasonDeleting
	case asked == nil || asked.RequestTime.After(now.Add(clockSkew)):
		return v1alpha1.ReasonRequesterUnknown // admission doesn't record what is to come
	case uid == "" || o.Spec.PolicyUID != string(uid):
		return v1alpha1.ReasonPolicyNotFound
	case !now.Before(ends(o, asked)):
		return v1alpha1.ReasonExpired
	}
	return v1alpha1.ReasonAccepted
}

// ends is when the override ends by itself: as it says, and never later than MaxOverride
// after it was asked for.
func ends(o *v1alpha1.PolicyOverride, asked *v1alpha1.RequestRecord) time.Time {
	latest := asked.RequestTime.Add(v1alpha1.MaxOverride)
	if o.Spec.ExpirationTime.Time.Before(latest) {
		return o.Spec.ExpirationTime.Time
	}
	return latest
}

// clockSkew is how far the clocks of replicas may differ: a record that is further ahead isn't admission's.
const clockSkew = 5 * time.Minute

// Softer is the less strict of what a policy declares and what is asked for in its place.
func Softer(declared, asked v1alpha1.AdmissionAction) v1alpha1.AdmissionAction {
	if strictness(asked) < strictness(declared) {
		return asked
	}
	return declared
}

// strictness orders the actions; what isn't one softens nothing.
func strictness(a v1alpha1.AdmissionAction) int {
	switch a {
	case v1alpha1.AdmissionAudit:
		return 0
	case v1alpha1.AdmissionWarn:
		return 1
	case v1alpha1.AdmissionDeny:
	}
	return 2
}
