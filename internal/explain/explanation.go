// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Explanation is all that is known of one object.
type Explanation struct {
	Object v1alpha1.ObjectReference `json:"object"`
	// OptOut says who keeps remediation off the object, and until when; empty when nobody does.
	OptOut string `json:"optOut,omitempty"`
	// IneffectiveOptOut says why an opt-out that somebody has written has no effect, or none any more; empty for
	// none.
	IneffectiveOptOut string `json:"ineffectiveOptOut,omitempty"`
	// LastRemediation is the plan that the object itself names as the last to have written it; whoever may write the
	// object may have changed that. Empty for none.
	LastRemediation string `json:"lastRemediation,omitempty"`
	// Deleting says what keeps the object, which is being deleted; empty when it isn't.
	Deleting string `json:"deleting,omitempty"`
	// Owners are the controllers that make the object, the nearest first; OwnersEnd
	// says why the chain ends before its root is known.
	Owners    []v1alpha1.ObjectReference `json:"owners,omitempty"`
	OwnersEnd string                     `json:"ownersEnd,omitempty"`
	// ManagedBy is the tool that keeps the object, or its root owner, in step with a
	// source of its own; empty when none does.
	ManagedBy string `json:"managedBy,omitempty"`
	// Policies are those that concern the object, by name.
	Policies []Verdict `json:"policies"`
	// PoliciesLeftOut are the names of policies that can't be asked as they are written: Unread says why.
	PoliciesLeftOut []string `json:"policiesLeftOut,omitempty"`
	// Plans are those that hold the object, the latest first.
	Plans []Touch `json:"plans"`
	// Breakers are those that aren't closed and cover the object.
	Breakers []Breaker `json:"breakers,omitempty"`
	// Events are what was recorded at the object of late, the latest first.
	Events []Event `json:"events,omitempty"`
	// Next says, policy by policy, what happens next.
	Next []string `json:"next"`
	// Unread says what couldn't be read, and is missing above.
	Unread []string `json:"unread,omitempty"`
	// PoliciesUnknown and PlansUnknown: they couldn't be read, so that an empty list says nothing.
	PoliciesUnknown bool `json:"policiesUnknown,omitempty"`
	PlansUnknown    bool `json:"plansUnknown,omitempty"`
	// NamespaceUnknown: the object's Namespace couldn't be read, so that an empty OptOut says nothing.
	NamespaceUnknown bool `json:"namespaceUnknown,omitempty"`
}

// The words of a Verdict.
const (
	// Clean: the object doesn't violate the policy.
	Clean = "Clean"
	// Violates: it does.
	Violates = "Violates"
	// Waived: it does, and a Waiver covers it.
	Waived = "Waived"
	// Unjudged: the policy can't judge the object, which is never a pass.
	Unjudged = "Unjudged"
	// Unknown: what the policy depends on couldn't be read.
	Unknown = "Unknown"
)

// Verdict is what one policy says of the object now.
type Verdict struct {
	Policy      string                   `json:"policy"`
	Severity    v1alpha1.Severity        `json:"severity"`
	Enforcement v1alpha1.AdmissionAction `json:"enforcement"`
	// Override says what a person has made of the policy's enforcement, and until when; empty
	// for nothing.
	Override string                   `json:"override,omitempty"`
	Mode     v1alpha1.RemediationMode `json:"mode"`
	// Strategy is the RemediationStrategy that the policy names; empty for one that names
	// itself how violations are remediated.
	Strategy string `json:"strategy,omitempty"`
	// Unresolved says why that strategy can't be followed; empty when it can.
	Unresolved string `json:"unresolved,omitempty"`
	// NotLookedUp says which kinds the manager's leader doesn't know whose objects the rules look up, so that they
	// count as not evaluated there, whatever the verdict here; empty when there are none.
	NotLookedUp string   `json:"notLookedUp,omitempty"`
	Verdict     string   `json:"verdict"`
	Messages    []string `json:"messages,omitempty"`
	// Waiver is the waiver that covers the object, with its reason.
	Waiver string `json:"waiver,omitempty"`
	// WaivedUntil is when the violations count again.
	WaivedUntil *time.Time `json:"waivedUntil,omitempty"`
	// Fix is what the policy would do; empty when it offers nothing.
	Fix string `json:"fix,omitempty"`
	// Managed is what the policy does with objects of another tool.
	Managed v1alpha1.ManagedObjectsPolicy `json:"managedObjects,omitempty"`
}

// Touch is what one plan did, or is to do, to the object.
type Touch struct {
	Plan    string                    `json:"plan"`
	Policy  string                    `json:"policy"`
	Phase   v1alpha1.RemediationPhase `json:"phase"`
	Wave    int32                     `json:"wave"`
	State   v1alpha1.TargetState      `json:"state"`
	Reason  string                    `json:"reason,omitempty"`
	Message string                    `json:"message,omitempty"`
	// At is when the write is known to have reached the object.
	At *time.Time `json:"at,omitempty"`
	// UndoneAt is when it was undone.
	UndoneAt *time.Time `json:"undoneAt,omitempty"`
	Changes  []Change   `json:"changes,omitempty"`
	// Evidence is what was seen of the object when its verification failed, before the write was undone.
	Evidence []string `json:"evidence,omitempty"`
	// Title is what the policy asks for, and Why what it is good for, as it stands now; empty where that isn't known.
	Title string `json:"title,omitempty"`
	Why   string `json:"why,omitempty"`
	// Owner is who answers for the policy, and Runbook what explains it.
	Owner   string `json:"owner,omitempty"`
	Runbook string `json:"runbook,omitempty"`
	// Proposal is the fix as a diff, of an object that is left to its owner.
	Proposal string `json:"proposal,omitempty"`
	// Limits are what the administrator's flags have changed of what the policy asks for.
	Limits []v1alpha1.AppliedLimit `json:"limits,omitempty"`
	// SameObject is false for an earlier object of that name.
	SameObject bool `json:"sameObject"`

	waits string
	// blocks: the plan ended so that its revision isn't planned again by itself.
	blocks bool
}

// Change is one thing that a write changed.
type Change struct {
	// What is a field's JSON Pointer, or the verb for what isn't a field.
	What string `json:"what"`
	// Before and After are JSON; empty: there was no such field.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// Breaker is a circuit breaker that keeps writes from beginning.
type Breaker struct {
	Name    string                `json:"name"`
	State   v1alpha1.BreakerState `json:"state"`
	Message string                `json:"message,omitempty"`

	policy string
}
