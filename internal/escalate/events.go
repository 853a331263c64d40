// SPDX-License-Identifier: Apache-2.0

package escalate

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Reasons of the events, part of the API: alerts and scripts match on them.
const (
	// ReasonPlanMade: a Remediation was created for a policy's violations.
	ReasonPlanMade = "PlanMade"
	// ReasonCanaryPassed: the canary was verified and soaked.
	ReasonCanaryPassed = "CanaryPassed"
	// ReasonWaveDone: a wave was verified and soaked.
	ReasonWaveDone = "WaveDone"
	// ReasonSucceeded: a rollout ended well.
	ReasonSucceeded = "RemediationSucceeded"
	// ReasonRollingBack: a wave failed and is being undone.
	ReasonRollingBack = "RollingBack"
	// ReasonRolledBack: a failed wave was undone exactly.
	ReasonRolledBack = "RolledBack"
	// ReasonRollbackIncomplete: some write couldn't be undone; a person must look.
	ReasonRollbackIncomplete = "RollbackIncomplete"
	// ReasonApprovalRequested: a rollout waits for a person's yes or no.
	ReasonApprovalRequested = "ApprovalRequested"
	// ReasonApprovalOverdue: nobody has answered in time; the rollout waits on.
	ReasonApprovalOverdue = "ApprovalOverdue"
	// ReasonApproved: a person has said yes to a rollout.
	ReasonApproved = "Approved"
	// ReasonRejected: a person has said no to a rollout.
	ReasonRejected = "Rejected"
	// ReasonHeld: a rollout waits for something that a person may have to give.
	ReasonHeld = "RemediationHeld"
	// ReasonAborted: a rollout ended before it proved anything.
	ReasonAborted = "RemediationAborted"
	// ReasonSuperseded: a rollout stopped because its policy changed.
	ReasonSuperseded = "RemediationSuperseded"
	// ReasonPreviewed: a dry run ended.
	ReasonPreviewed = "RemediationPreviewed"
	// ReasonStuck: a rollout can't go on and can't end without a person.
	ReasonStuck = "RemediationStuck"
	// ReasonNotPlanned: violations could be fixed, but no plan may be made.
	ReasonNotPlanned = "RemediationNotPlanned"
	// ReasonBreakerOpened: a circuit breaker stops automated writes.
	ReasonBreakerOpened = "BreakerOpened"
	// ReasonBreakerClosed: a circuit breaker lets automated writes through again.
	ReasonBreakerClosed = "BreakerClosed"
	// ReasonBreakerReset: a person has closed a circuit breaker and let it start afresh.
	ReasonBreakerReset = "BreakerReset"
	// ReasonKillSwitchOn: a person holds a circuit breaker open.
	ReasonKillSwitchOn = "KillSwitchOn"
	// ReasonKillSwitchOff: nobody holds the circuit breaker open any more.
	ReasonKillSwitchOff = "KillSwitchOff"
	// ReasonPolicyDemoted: a policy's breaker opened too often; only dry runs are made.
	ReasonPolicyDemoted = "PolicyDemoted"
	// ReasonDemotionEnded: a policy that was demoted may write again.
	ReasonDemotionEnded = "DemotionEnded"
	// ReasonRemediated: Evenkeel changed this object.
	ReasonRemediated = "Remediated"
	// ReasonReverted: Evenkeel set this object back.
	ReasonReverted = "RemediationReverted"
	// ReasonTargetFailed: this object couldn't be fixed.
	ReasonTargetFailed = "RemediationFailed"
	// ReasonFight: somebody keeps setting this object back; Evenkeel has stopped
	// fixing it.
	ReasonFight = "RemediationFight"
	// ReasonManagedByOther: another tool manages this object; fix it at its source.
	ReasonManagedByOther = "ManagedByOther"
)

// maxNote is the API's limit on an event's note (events.k8s.io/v1).
const maxNote = 1024

// Recorder records events. Recording is best effort and never blocks.
type Recorder struct {
	events events.EventRecorder
}

// NewRecorder records on r.
func NewRecorder(r events.EventRecorder) *Recorder { return &Recorder{events: r} }

// Rollout records a transition of a rollout, regarding the Remediation.
func (r *Recorder) Rollout(rem *v1alpha1.Remediation, reason, note string) {
	r.record(rem, policyReference(rem.Spec.Plan.Policy), reason, note)
}

// Policy records something that concerns a policy as a whole.
func (r *Recorder) Policy(p *v1alpha1.ClusterRegoPolicy, reason, note string) {
	r.record(p, nil, reason, note)
}

// Breaker records a transition of a circuit breaker, with the plan that caused it.
func (r *Recorder) Breaker(cb *v1alpha1.RemediationBreaker, rem *v1alpha1.Remediation, reason, note string) {
	var related runtime.Object
	if rem != nil {
		related = rem
	}
	r.record(cb, related, reason, note)
}

// Target records what happened to one object, with the plan that did it.
func (r *Recorder) Target(ref v1alpha1.ObjectReference, rem runtime.Object, reason, note string) {
	r.record(&corev1.ObjectReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace,
		Name: ref.Name, UID: types.UID(ref.UID)}, rem, reason, note)
}

func (r *Recorder) record(regarding, related runtime.Object, reason, note string) {
	if len(note) > maxNote {
		note = strings.ToValidUTF8(note[:maxNote-3], "") + "..."
	}
	r.events.Eventf(regarding, related, eventType(reason), reason, action(reason), "%s", note)
}

// eventType is Warning for everything that a person may have to act upon.
func eventType(reason string) string {
	switch reason {
	case ReasonPlanMade, ReasonCanaryPassed, ReasonWaveDone, ReasonSucceeded, ReasonSuperseded,
		ReasonPreviewed, ReasonBreakerClosed, ReasonBreakerReset, ReasonKillSwitchOff, ReasonDemotionEnded,
		ReasonRemediated,
		ReasonApproved, ReasonRejected:
		return corev1.EventTypeNormal
	default:
		return corev1.EventTypeWarning
	}
}

// action is what Evenkeel was doing (events.k8s.io/v1 wants it in CamelCase).
func action(reason string) string {
	switch reason {
	case ReasonBreakerOpened, ReasonBreakerClosed, ReasonBreakerReset, ReasonKillSwitchOn, ReasonKillSwitchOff,
		ReasonPolicyDemoted, ReasonDemotionEnded:
		return "BreakCircuit"
	case ReasonPlanMade, ReasonNotPlanned:
		return "Plan"
	case ReasonRollingBack, ReasonRolledBack, ReasonRollbackIncomplete, ReasonReverted:
		return "RollBack"
	default:
		return "Remediate"
	}
}

func policyReference(p v1alpha1.PlannedPolicy) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterRegoPolicy", Name: p.Name,
		UID: types.UID(p.UID)}
}
