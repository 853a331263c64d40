// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MaxTargetsPerSlice is the largest number of targets in one RemediationSlice.
const MaxTargetsPerSlice = 100

// MaxSliceBytes is the largest encoding of one RemediationSlice, as JSON.
const MaxSliceBytes = 256 << 10

// MaxSlices is the largest number of slices of one plan.
const MaxSlices = 1500

// MaxTargets is the largest number of targets in one plan; a strategy may ask for
// fewer.
const MaxTargets = 100000

// TargetState is where one target stands.
// +kubebuilder:validation:MaxLength=64
type TargetState string

const (
	// TargetPending means that nothing was written.
	TargetPending TargetState = "Pending"
	// TargetIntent means that a write was decided and recorded; whether it
	// reached the object must be found out from the object.
	TargetIntent TargetState = "Intent"
	// TargetApplied means that the write is known to have reached the object.
	TargetApplied TargetState = "Applied"
	// TargetVerified means that the object is clean and healthy after the write.
	TargetVerified TargetState = "Verified"
	// TargetDone means verified and soaked. Final.
	TargetDone TargetState = "Done"
	// TargetPreviewed means that the server-side dry run succeeded. Final.
	TargetPreviewed TargetState = "Previewed"
	// TargetSkipped means that the object was left alone; the reason says why. Final.
	TargetSkipped TargetState = "Skipped"
	// TargetFailed means that the object couldn't be fixed; nothing of ours is
	// left on it, or its wave is rolled back. Final.
	TargetFailed TargetState = "Failed"
	// TargetReverted means that our write was undone. Final.
	TargetReverted TargetState = "Reverted"
	// TargetRevertConflict means that somebody else changed the field since, and
	// our write wasn't undone. Final.
	TargetRevertConflict TargetState = "RevertConflict"
)

// Settled says whether nothing is left to do for a target in this state, but to undo
// what a person or a failed wave has undone. A state that isn't known isn't settled.
func (s TargetState) Settled() bool {
	switch s {
	case TargetDone, TargetPreviewed, TargetSkipped, TargetFailed, TargetReverted, TargetRevertConflict:
		return true
	case TargetPending, TargetIntent, TargetApplied, TargetVerified:
		return false
	}
	return false
}

// Reasons of a target's state.
const (
	// ReasonOptOut: the object or its namespace opted out of remediation.
	ReasonOptOut = "OptOut"
	// ReasonManaged: another tool manages the object; fix it at its source.
	ReasonManaged = "Managed"
	// ReasonFighting: somebody has set the object back after it was fixed: once before its soak had passed (Failed), or
	// again and again (Skipped).
	ReasonFighting = "Fighting"
	// ReasonOwned: a controller owns the object; it is fixed at its root owner.
	ReasonOwned = "Owned"
	// ReasonChangedSinceApproval: the fix isn't the one that was approved, for the object
	// has changed since; the next plan asks again.
	ReasonChangedSinceApproval = "ChangedSinceApproval"
	// ReasonAlreadyClean: the object violates no longer.
	ReasonAlreadyClean = "AlreadyClean"
	// ReasonWaived: a Waiver covers the object.
	ReasonWaived = "Waived"
	// ReasonGone: the object was deleted, or replaced under its name.
	ReasonGone = "Gone"
	// ReasonVanished: the object was deleted, or replaced under its name, after our
	// write and before its soak had passed.
	ReasonVanished = "Vanished"
	// ReasonNoFix: the policy offers no fix for the object.
	ReasonNoFix = "NoFix"
	// ReasonFixIneffective: after the fix the object would still violate, or be as it was.
	ReasonFixIneffective = "FixIneffective"
	// ReasonFixBreaksPolicy: the fixed object would violate another policy.
	ReasonFixBreaksPolicy = "FixBreaksPolicy"
	// ReasonFixInvalid: the patch can't be applied to the object.
	ReasonFixInvalid = "FixInvalid"
	// ReasonFixTooLarge: the record of the fix exceeds its size limit.
	ReasonFixTooLarge = "FixTooLarge"
	// ReasonNotAllowed: the manager's flags don't let fixes write the namespace, the
	// kind or the field, or the policy's allowedActions not what the fix does.
	ReasonNotAllowed = "NotAllowed"
	// ReasonFixChangesMore: the API server would change fields that the fix doesn't name.
	ReasonFixChangesMore = "FixChangesMore"
	// ReasonExists: an object that the fix is to create exists, with another content.
	ReasonExists = "AlreadyExists"
	// ReasonDisruptionBudget: a PodDisruptionBudget doesn't let the Pod be evicted.
	ReasonDisruptionBudget = "DisruptionBudget"
	// ReasonNotServed: the API server doesn't serve the object's kind, or its version,
	// now: nothing is known of the object.
	ReasonNotServed = "NotServed"
	// ReasonRetrying: a write failed, must be recomputed, or the gate closed right before it; it is tried again later.
	ReasonRetrying = "Retrying"
	// ReasonNoUndo: what was done to the object can't be undone.
	ReasonNoUndo = "NoUndo"
	// ReasonSensitive: the object's values mustn't be recorded (a Secret).
	ReasonSensitive = "Sensitive"
	// ReasonDryRunRefused: the API server refused the server-side dry run.
	ReasonDryRunRefused = "DryRunRefused"
	// ReasonAdmissionDenied: an admission webhook or policy denied the write.
	ReasonAdmissionDenied = "AdmissionDenied"
	// ReasonEvaluationError: a policy couldn't be evaluated on the object.
	ReasonEvaluationError = "EvaluationError"
	// ReasonUnhealthyBefore: a canary must be healthy before it is touched.
	ReasonUnhealthyBefore = "UnhealthyBefore"
	// ReasonOutcomeUnknown: the answer to a write is lost, and the write may still
	// reach the object.
	ReasonOutcomeUnknown = "OutcomeUnknown"
	// ReasonConflict: somebody else wrote the same fields meanwhile, or others changed with the undoing of a write, or
	// came with the write, that couldn't be reverted.
	ReasonConflict = "Conflict"
	// ReasonOtherPlan: another plan has the object in work; this one waits for it.
	ReasonOtherPlan = "OtherPlan"
	// ReasonJointRefused: the write of several plans for the object was refused; this
	// one is tried alone.
	ReasonJointRefused = "JointRefused"
	// ReasonRetriesExhausted: the API server kept failing.
	ReasonRetriesExhausted = "RetriesExhausted"
	// ReasonStillViolating: the object violates after the write.
	ReasonStillViolating = "StillViolating"
	// ReasonUnhealthy: the object's health got worse after the write.
	ReasonUnhealthy = "Unhealthy"
	// ReasonReplacementViolates: the Pod that a controller has made in place of an
	// evicted one violates again.
	ReasonReplacementViolates = "ReplacementViolates"
	// ReasonDeadline: the object wasn't verified within the progress deadline.
	ReasonDeadline = "DeadlineExceeded"
	// ReasonUnobserved: what rules reference wasn't known within the progress deadline, or the scan couldn't see what a
	// write brings to other objects, so that nothing was written; or one of the two, or the object itself, wasn't known
	// for twice as long after the write, so that nobody knows whether it did harm.
	ReasonUnobserved = "Unobserved"
	// ReasonNamespaceFailed: an earlier plan of the revision failed in the object's
	// namespace, and only there.
	ReasonNamespaceFailed = "NamespaceFailed"
	// ReasonNotAttempted: the plan ended before this target's turn.
	ReasonNotAttempted = "NotAttempted"
	// ReasonReplanned: the object was to be left alone when the plan was made, and
	// may be fixed by now; the next plan does.
	ReasonReplanned = "Replanned"
)

// RemediationSlice holds at most 100 targets of a plan, and what was done to each. Like an
// EndpointSlice it has neither spec nor status: the records are the only data that a write
// can be undone from, and tools that back objects up leave a status out.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=remslice
// +kubebuilder:printcolumn:name="Remediation",type=string,JSONPath=`.remediation`
// +kubebuilder:printcolumn:name="Index",type=integer,JSONPath=`.index`
// +kubebuilder:printcolumn:name="Targets",type=integer,JSONPath=`.progress.targets`
// +kubebuilder:printcolumn:name="Done",type=integer,JSONPath=`.progress.done`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.progress.failed`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type RemediationSlice struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// remediation is the name of the plan. It never changes.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a plan is immutable: delete the Remediation and let the controller plan again"
	Remediation string `json:"remediation"`
	// index is the slice's place in the plan, from 0. It never changes.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a plan is immutable: delete the Remediation and let the controller plan again"
	Index int32 `json:"index"`
	// targets are in the order of the rollout. They never change.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a plan is immutable: delete the Remediation and let the controller plan again"
	Targets []Target `json:"targets"`
	// records are what was done to the targets, one by one. A record that is missing
	// means Pending.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Records []TargetRecord `json:"records,omitempty"`
	// progress counts the records, for people.
	// +optional
	Progress SliceProgress `json:"progress,omitzero"`
}

// SliceProgress counts the targets of one slice.
type SliceProgress struct {
	// targets is how many there are.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Targets int32 `json:"targets"`
	// done counts those that are Done or Previewed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Done int32 `json:"done"`
	// failed counts those that are Failed or RevertConflict.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Failed int32 `json:"failed"`
}

// RemediationSliceList is a list of RemediationSlice objects.
// +kubebuilder:object:root=true
type RemediationSliceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RemediationSlice `json:"items"`
}

// Target is one object to fix.
type Target struct {
	// object is the object, with the UID that it had when the plan was made.
	// +required
	Object ObjectReference `json:"object"`
	// wave is the wave that the target belongs to; 0 is the canary.
	// +required
	// +kubebuilder:validation:Minimum=0
	Wave int32 `json:"wave"`
	// skipReason is why the object isn't ours to fix, as it was seen when the plan
	// was made: Managed, Owned, OptOut, NotAllowed, Fighting, NamespaceFailed or
	// BreakerOpen. Such a target is never
	// written: it is recorded before the rollout begins, with the fix as a
	// proposal to its owner. Empty for a target to fix.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	SkipReason string `json:"skipReason,omitempty"`
	// heat is how often the object had been fixed by earlier plans of the policy, in
	// hundredths: each fix counts 100, and half as much with every week.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Heat int32 `json:"heat,omitempty"`
	// excludedFromCanary says that the strategy's canary.selector doesn't choose the target:
	// it is never drawn into the plan's first canary.
	// +optional
	ExcludedFromCanary bool `json:"excludedFromCanary,omitempty"`
}

// TargetRecord is what was done to one target.
type TargetRecord struct {
	// state is where the target stands.
	// +required
	State TargetState `json:"state"`
	// wave is set when the target was drawn into another wave than planned (a
	// later target that takes the place of a canary which couldn't be tried).
	// +optional
	Wave *int32 `json:"wave,omitempty"`
	// reason is the CamelCase reason of the state.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`
	// message explains the reason.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// attempts is the number of tries that ended in a transient error.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// nextAttemptTime is when the next try may begin.
	// +optional
	NextAttemptTime *metav1.MicroTime `json:"nextAttemptTime,omitempty"`
	// proposal is the fix of an object that is left to its owner: a unified diff
	// of the object's YAML, cut when it is longer. Of a target whose plan a person must
	// approve it is the change that is approved: a digest of all that would be written, and
	// the fields with their values before and after, or which target of the slice has the
	// same; nothing else is written then. Values of a Secret are censored.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Proposal string `json:"proposal,omitempty"`
	// waitingTime is since when a PodDisruptionBudget has kept the Pod from being
	// evicted, or the API server hasn't served the object's kind.
	// +optional
	WaitingTime *metav1.MicroTime `json:"waitingTime,omitempty"`
	// recovering says that the write was undone, and that the object isn't known to
	// be well again: until then, and for progressDeadline at most, it counts as in
	// flight for the budgets.
	// +optional
	Recovering bool `json:"recovering,omitempty"`
	// preceding are the writes that come before write, in order: a fix may create
	// objects first, and change an object before its status.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Preceding []WriteRecord `json:"preceding,omitempty"`
	// write is the record of the write, or of the last of several. All are
	// persisted before the first is sent.
	// +optional
	Write *WriteRecord `json:"write,omitempty"`
}
