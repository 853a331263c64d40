// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of events, part of the API: alerts and scripts match on them.
const (
	// EventPlanMade: a Remediation was created for a policy's violations.
	EventPlanMade = "PlanMade"
	// EventCanaryPassed: the canary was verified and soaked.
	EventCanaryPassed = "CanaryPassed"
	// EventWaveDone: a wave was verified and soaked.
	EventWaveDone = "WaveDone"
	// EventRemediationSucceeded: a rollout ended well.
	EventRemediationSucceeded = "RemediationSucceeded"
	// EventRollingBack: a wave failed and is being undone.
	EventRollingBack = "RollingBack"
	// EventRolledBack: a failed wave was undone exactly.
	EventRolledBack = "RolledBack"
	// EventRollbackIncomplete: some write couldn't be undone; a person must look.
	EventRollbackIncomplete = "RollbackIncomplete"
	// EventApprovalRequested: a rollout waits for a person to approve or reject it.
	EventApprovalRequested = "ApprovalRequested"
	// EventApprovalOverdue: nobody has answered in time; the rollout waits on.
	EventApprovalOverdue = "ApprovalOverdue"
	// EventApproved: a person has approved a rollout.
	EventApproved = "Approved"
	// EventRejected: a person has rejected a rollout.
	EventRejected = "Rejected"
	// EventRemediationHeld: a rollout waits for something that a person may have to give.
	EventRemediationHeld = "RemediationHeld"
	// EventRemediationAborted: a rollout ended before it proved anything.
	EventRemediationAborted = "RemediationAborted"
	// EventRemediationSuperseded: a rollout stopped because its policy changed.
	EventRemediationSuperseded = "RemediationSuperseded"
	// EventRemediationPreviewed: a dry run ended.
	EventRemediationPreviewed = "RemediationPreviewed"
	// EventRemediationStuck: a rollout can't go on and can't end without a person.
	EventRemediationStuck = "RemediationStuck"
	// EventRemediationNotPlanned: violations could be fixed, but no plan may be made.
	EventRemediationNotPlanned = "RemediationNotPlanned"
	// EventBreakerOpened: a circuit breaker stops automated writes.
	EventBreakerOpened = "BreakerOpened"
	// EventBreakerClosed: a circuit breaker lets automated writes through again.
	EventBreakerClosed = "BreakerClosed"
	// EventBreakerReset: a person has closed a circuit breaker and let it start afresh.
	EventBreakerReset = "BreakerReset"
	// EventKillSwitchOn: a person holds a circuit breaker open.
	EventKillSwitchOn = "KillSwitchOn"
	// EventKillSwitchOff: nobody holds the circuit breaker open any more.
	EventKillSwitchOff = "KillSwitchOff"
	// EventPolicyDemoted: a policy's breaker opened too often; only dry runs are made.
	EventPolicyDemoted = "PolicyDemoted"
	// EventDemotionEnded: a policy that was demoted may write again.
	EventDemotionEnded = "DemotionEnded"
	// EventRemediated: Evenkeel changed this object.
	EventRemediated = "Remediated"
	// EventRemediationReverted: Evenkeel set this object back.
	EventRemediationReverted = "RemediationReverted"
	// EventRemediationFailed: this object couldn't be fixed.
	EventRemediationFailed = "RemediationFailed"
	// EventRemediationFight: somebody keeps setting this object back; Evenkeel has stopped
	// fixing it.
	EventRemediationFight = "RemediationFight"
	// EventManagedByOther: another tool manages this object; fix it at its source.
	EventManagedByOther = "ManagedByOther"
	// EventViolationFound: an object began to violate a policy, or the first pass
	// of a revision found such objects.
	EventViolationFound = "ViolationFound"
	// EventViolationResolved: no object violates the policy any more.
	EventViolationResolved = "ViolationResolved"
	// EventWaiverExpired: a Waiver's time is over, and the violations
	// that it waived count again.
	EventWaiverExpired = "WaiverExpired"
	// EventPolicyOverridden: a person has softened a policy's enforcement until a set time.
	EventPolicyOverridden = "PolicyOverridden"
	// EventOverrideEnded: a policy is enforced as it declares again.
	EventOverrideEnded = "OverrideEnded"
	// EventScanIncomplete: some kind of the policy can't be listed or watched.
	EventScanIncomplete = "ScanIncomplete"
	// EventPolicySourceApplied: a revision, or a change of the source, has come into force.
	EventPolicySourceApplied = "PolicySourceApplied"
	// EventPolicySourceFetchFailed: the repository can't be read, or not be trusted.
	EventPolicySourceFetchFailed = "PolicySourceFetchFailed"
	// EventPolicySourceNotCompiling: some file of the newest revision is wrong.
	EventPolicySourceNotCompiling = "PolicySourceNotCompiling"
	// EventPolicySourceRefused: the newest revision can't come into force as it is.
	EventPolicySourceRefused = "PolicySourceRefused"
	// EventPolicySourceApplyFailed: policies couldn't be written.
	EventPolicySourceApplyFailed = "PolicySourceApplyFailed"
	// EventPolicySourceDeleted: a source was deleted; its policies were removed or kept.
	EventPolicySourceDeleted = "PolicySourceDeleted"
	// EventPolicyRestored: somebody has changed a policy that a source owns.
	EventPolicyRestored = "PolicyRestored"
	// EventWebhookNarrowed: somebody has added selectors or conditions to an entry,
	// and they are kept, so some requests aren't judged.
	EventWebhookNarrowed = "WebhookNarrowed"
	// EventWebhookRestored: somebody has changed an entry otherwise, and it was written
	// again as the policies need it.
	EventWebhookRestored = "WebhookRestored"
)
