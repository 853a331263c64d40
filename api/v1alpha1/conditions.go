// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types. Every kind has Ready; Reconciling and Stalled are there only while they
// are True, never both, and never beside Ready=True: so kstatus reads them.
const (
	// ConditionReady is True when the object is what its spec asks for.
	ConditionReady = "Ready"
	// ConditionReconciling is True while the object isn't yet what its spec asks for, and
	// gets there without a person: the controller works, or waits for what comes by itself,
	// or for whom a person has asked it to wait. Absent otherwise.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when nothing goes on with the object until a person acts.
	// Absent otherwise.
	ConditionStalled = "Stalled"
	// ConditionProgressing is True on a Remediation that works, and False on one that waits
	// or has ended; its reason says for what, or how.
	ConditionProgressing = "Progressing"
	// ConditionApproved is on a Remediation in mode Manual: True once a person has said
	// yes, and False before that, and after a no. Absent in other modes.
	ConditionApproved = "Approved"
	// ConditionComplete is True on a Remediation that has gone through all its waves, and
	// absent otherwise.
	ConditionComplete = "Complete"
	// ConditionEnded is True on a Remediation that has ended; its reason says how. Absent before.
	ConditionEnded = "Ended"
	// ConditionActive is True on a Waiver while it waives violations, and on a PolicyOverride
	// while it overrides its policy.
	ConditionActive = "Active"
	// ConditionClosed is True on a RemediationBreaker that lets writes through.
	ConditionClosed = "Closed"
	// ConditionDemoted is True on the RemediationBreaker of a policy for which only dry runs
	// are made, and absent otherwise.
	ConditionDemoted = "Demoted"
	// ConditionOverridden is True on a ClusterRegoPolicy while a PolicyOverride softens its
	// enforcement, and absent otherwise.
	ConditionOverridden = "Overridden"
)

// Reasons of the conditions of a ClusterRegoPolicy and of a RegoTemplate, besides ReasonInvalid and
// ReasonPolicyOverridden. ReasonInvalid: what is stored can't be read; the last good revision stays in force.
// ReasonPolicyOverridden: a person has softened the policy's enforcement until a set time.
const (
	// ReasonCompiled: the rule compiles and is in force.
	ReasonCompiled = "Compiled"
	// ReasonCompileFailed: the rule doesn't compile; the last good revision stays in force.
	ReasonCompileFailed = "CompileFailed"
	// ReasonTemplateNotFound: there is no RegoTemplate of the name that templateRef gives; the
	// last good revision stays in force.
	ReasonTemplateNotFound = "TemplateNotFound"
	// ReasonTemplateFailed: the rule of the RegoTemplate can't be in force; the last good
	// revision stays in force.
	ReasonTemplateFailed = "TemplateFailed"
	// ReasonParametersInvalid: the parameters don't fit the RegoTemplate's schema; the last
	// good revision stays in force.
	ReasonParametersInvalid = "ParametersInvalid"
	// ReasonScanning: the first pass of the scan isn't finished.
	ReasonScanning = "Scanning"
	// ReasonScanIncomplete: some kind couldn't be listed.
	ReasonScanIncomplete = "ScanIncomplete"
	// ReasonStrategyNotFound: there is no RemediationStrategy of the name that the policy
	// refers to; nothing is remediated until there is.
	ReasonStrategyNotFound = "StrategyNotFound"
	// ReasonStrategyInvalid: the RemediationStrategy that the policy refers to can't be
	// followed, or a plan's budget or maintenance window can't be read; nothing is remediated until it is corrected.
	ReasonStrategyInvalid = "StrategyInvalid"
)

// Reasons of a RemediationStrategy's conditions, besides ReasonAccepted and ReasonInvalid. ReasonAccepted: plans that
// are made from now on follow it. ReasonInvalid: it can't be followed; the policies that refer to it remediate nothing.
const (
	// ReasonDeleting: it is being deleted. Policies that refer to a strategy remediate nothing; a waiver waives
	// nothing; a RegoTemplate stays while policies name it.
	ReasonDeleting = "Deleting"
)

// Reasons of a Waiver's conditions, besides ReasonInvalid and ReasonDeleting: it is being deleted, and waives nothing,
// however long a finalizer keeps it.
const (
	// ReasonAccepted: it is in order, and waives what it names, or overrides its policy, for as long as it says.
	ReasonAccepted = "Accepted"
	// ReasonExpired: the waiver has ended; the violations count again.
	ReasonExpired = "Expired"
	// ReasonPolicyNotFound: some policy that the waiver names doesn't exist.
	ReasonPolicyNotFound = "PolicyNotFound"
	// ReasonInvalid: the waiver can't be read, so it waives nothing.
	ReasonInvalid = "Invalid"
)

// Reasons of a PolicyOverride's conditions, besides ReasonAccepted, ReasonExpired,
// ReasonPolicyNotFound and ReasonInvalid. ReasonAccepted: it is in order. ReasonExpired: the override has ended; the
// policy is enforced as it declares. ReasonPolicyNotFound: the policy that it names doesn't exist. ReasonInvalid: it
// can't be read, and overrides nothing.
const (
	// ReasonRequesterUnknown: admission hasn't recorded who asks; nothing is overridden.
	ReasonRequesterUnknown = "RequesterUnknown"
)

// Reasons of a RemediationBreaker's conditions, besides ReasonDemoted.
const (
	// ReasonWatching: the breaker counts what its scope's writes come to, as its spec asks.
	ReasonWatching = "Watching"
	// ReasonClosed: writes go through.
	ReasonClosed = "Closed"
	// ReasonOpen: no write begins until the cooldown ends, which it does by itself, or until the person lets go who
	// holds the breaker open.
	ReasonOpen = "Open"
	// ReasonHalfOpen: the canary of one plan goes through, as a probe.
	ReasonHalfOpen = "HalfOpen"
	// ReasonForcedOpen: a person holds the breaker open (spec.mode: ForcedOpen).
	ReasonForcedOpen = "ForcedOpen"
)

// Reasons of a Remediation's phase and conditions.
const (
	// ReasonWaveInProgress: targets of the wave are being written or verified.
	ReasonWaveInProgress = "WaveInProgress"
	// ReasonDryRun: every fix is tried as a server-side dry run.
	ReasonDryRun = "DryRun"
	// ReasonBreakerOpen: a circuit breaker lets no new write through.
	ReasonBreakerOpen = "BreakerOpen"
	// ReasonHealthUnknown: nobody can tell the health of some target, so that no
	// verification could find that the fix does harm.
	ReasonHealthUnknown = "HealthUnknown"
	// ReasonMissingPermissions: the controller lacks a permission that the fix of a target needs.
	ReasonMissingPermissions = "MissingPermissions"
	// ReasonVerificationFailed: a target didn't pass verification.
	ReasonVerificationFailed = "VerificationFailed"
	// ReasonNoViableCanary: no candidate could be written as a canary.
	ReasonNoViableCanary = "NoViableCanary"
	// ReasonLostToFights: most candidates for a canary were fixed, and each of them reverted by somebody else, whom the
	// message names. That says nothing of the fix.
	ReasonLostToFights = "LostToFights"
	// ReasonNoAnswer: the plan ended for reasons that say nothing of the fix: the API
	// server, or somebody's webhook, didn't answer, or objects couldn't be read. A
	// plan is made again by itself, later each time.
	ReasonNoAnswer = "NoAnswer"
	// ReasonNoHealthyCanary: no target is healthy enough to prove anything as a canary.
	ReasonNoHealthyCanary = "NoHealthyCanary"
	// ReasonUnverified: nothing of a wave that was written is left to verify.
	ReasonUnverified = "Unverified"
	// ReasonPolicyChanged: the policy, or what the administrator allows it, changed, or the policy is gone, since the
	// plan was made.
	ReasonPolicyChanged = "PolicyChanged"
	// ReasonPaused: a person has paused the rollout (spec.desiredState: Paused).
	ReasonPaused = "Paused"
	// ReasonAborted: a person has ended the rollout (spec.desiredState: Aborted).
	ReasonAborted = "Aborted"
	// ReasonUndone: a person has had all of the plan undone (spec.desiredState: Undone).
	ReasonUndone = "Undone"
	// ReasonPolicyOverridden: a person has overridden the policy's enforcement, so that no new
	// write of its plans begins.
	ReasonPolicyOverridden = "PolicyOverridden"
	// ReasonOutsideWindow: no maintenance window is open.
	ReasonOutsideWindow = "OutsideWindow"
	// ReasonNoWindow: no maintenance window opens within five years.
	ReasonNoWindow = "NoWindow"
	// ReasonFrozen: a freeze of the whole cluster lets no plan begin a write.
	ReasonFrozen = "Frozen"
	// ReasonFreezesUnreadable: the file of freezes can't be read, which counts as a freeze.
	ReasonFreezesUnreadable = "FreezesUnreadable"
	// ReasonBudgetSpent: as many targets as the budgets allow are in flight, over all plans.
	ReasonBudgetSpent = "BudgetSpent"
	// ReasonAwaitingApproval: a person must approve the plan.
	ReasonAwaitingApproval = "AwaitingApproval"
	// ReasonApprovalOverdue: nobody has answered in time; people are notified.
	ReasonApprovalOverdue = "ApprovalOverdue"
	// ReasonProposalMismatch: the answer approves other changes than the plan's, and doesn't count.
	ReasonProposalMismatch = "ProposalMismatch"
	// ReasonApproverRefused: the answer doesn't count: who gave it may not approve the plan, or isn't recorded.
	ReasonApproverRefused = "ApproverRefused"
	// ReasonApproved: a person has approved the plan.
	ReasonApproved = "Approved"
	// ReasonNotAnswered: the plan ended before anybody had answered.
	ReasonNotAnswered = "NotAnswered"
	// ReasonRejected: a person has rejected the plan.
	ReasonRejected = "Rejected"
	// ReasonAnalysisFailed: a metric says that the wave does harm.
	ReasonAnalysisFailed = "AnalysisFailed"
	// ReasonAnalysisInconclusive: a metric gives no answer, which is never a pass.
	ReasonAnalysisInconclusive = "AnalysisInconclusive"
	// ReasonDemoted: the policy's breaker opened too often; only dry runs are made.
	ReasonDemoted = "Demoted"
	// ReasonSLOUnknown: the query of a breaker's service level objective gives no
	// answer, which is never a yes.
	ReasonSLOUnknown = "SLOUnknown"
	// ReasonSliceMissing: a record of the plan is gone, or is that of a deleted plan of its name, so that it can
	// neither go on nor end.
	ReasonSliceMissing = "SliceMissing"
	// ReasonRollbackStuck: some write couldn't be undone in several tries; it is tried on.
	ReasonRollbackStuck = "RollbackStuck"
	// ReasonAllTargetsSettled: every target is done or skipped.
	ReasonAllTargetsSettled = "AllTargetsSettled"
	// ReasonSomeTargetsFailed: the rollout ended, but some targets couldn't be fixed, or were reverted by somebody
	// else.
	ReasonSomeTargetsFailed = "SomeTargetsFailed"
	// ReasonOwnersNotified: no target is ours to fix; the slices hold the fixes as
	// proposals to their owners.
	ReasonOwnersNotified = "OwnersNotified"
)

// Labels and annotations.
const (
	// LabelPolicy names the policy that an object belongs to.
	// On: Remediation, RemediationSlice, RemediationBreaker, what a fix creates. By: the manager.
	LabelPolicy = "evenkeel.dev/policy"
	// LabelRemediation names the plan that a slice belongs to, or that created an object.
	// On: RemediationSlice, what a fix creates. By: the manager.
	LabelRemediation = "evenkeel.dev/remediation-name"
	// LabelTier marks an object as critical ("critical"): it comes last in a rollout.
	// On: any object. By: its owner.
	LabelTier = "evenkeel.dev/tier"
	// AnnotationRemediation on an object or its namespace opts out of
	// remediation with the value "paused".
	// On: any object, Namespace. By: its owner.
	AnnotationRemediation = "evenkeel.dev/remediation"
	// AnnotationPausedUntil on an object or its namespace that opts out of remediation says until when, as RFC 3339
	// has it: 2027-01-07T08:00:00Z. Without it, and with a time that can't be read, the opt-out has no end.
	// On: any object, Namespace. By: its owner.
	AnnotationPausedUntil = "evenkeel.dev/remediation-paused-until"
	// AnnotationLastRemediation names the plan whose fix was last written to an object, for anyone who reads the
	// object. It is set in the write of the fix, and restored when the fix is undone. Nothing depends on it.
	// On: any object. By: the manager, unless --remediation-annotate-objects=false.
	AnnotationLastRemediation = "evenkeel.dev/last-remediation"
	// AnnotationAuthor on a policy, a template or a strategy names the user who last changed its spec.
	// Admission sets it; what a request itself says is replaced.
	// On: ClusterRegoPolicy, RegoTemplate, RemediationStrategy. By: admission.
	AnnotationAuthor = "evenkeel.dev/author"
	// AnnotationAuthors on a policy, a template or a strategy names all users who have changed its spec since
	// it was made. Admission sets it; what a request itself says is replaced.
	// On: ClusterRegoPolicy, RegoTemplate, RemediationStrategy. By: admission.
	AnnotationAuthors = "evenkeel.dev/authors"
	// AnnotationRequests on a plan, a breaker or an override records the latest 10 requests that people have made
	// of it, one JSON object a line, the oldest first: who, what, when and why. Admission sets it; what a request
	// itself says is replaced.
	// On: Remediation, RemediationBreaker, PolicyOverride. By: admission.
	AnnotationRequests = "evenkeel.dev/requests"
	// AnnotationMigratedFrom names what of Gatekeeper's a policy or template stands for, as KIND/NAME.
	// On: ClusterRegoPolicy, RegoTemplate. By: evenkeel migrate gatekeeper apply.
	AnnotationMigratedFrom = "evenkeel.dev/migrated-from"
	// AnnotationMigratedUID is the UID of what evenkeel.dev/migrated-from names.
	// On: ClusterRegoPolicy, RegoTemplate. By: evenkeel migrate gatekeeper apply.
	AnnotationMigratedUID = "evenkeel.dev/migrated-from-uid"
	// AnnotationMigratedDigest is a digest of the constraint and its ConstraintTemplate that a policy was made of.
	// On: ClusterRegoPolicy. By: evenkeel migrate gatekeeper apply.
	AnnotationMigratedDigest = "evenkeel.dev/migrated-from-digest"
	// AnnotationMigratedSpec keeps the spec that a policy was made with, so that what others change of it is told.
	// On: ClusterRegoPolicy. By: evenkeel migrate gatekeeper apply.
	AnnotationMigratedSpec = "evenkeel.dev/migrated-spec"
	// RemediationPaused is the value of AnnotationRemediation that opts out.
	RemediationPaused = "paused"
)

// Finalizer keeps a Remediation until its writes in flight are verified or undone.
// On: Remediation. By: the manager.
const Finalizer = "evenkeel.dev/rollout"

// FinalizerInUse keeps a RegoTemplate until no policy names it.
// On: RegoTemplate. By: the manager.
const FinalizerInUse = "evenkeel.dev/template-in-use"

// FieldManager is the field manager of every write by Evenkeel but rollbacks.
const FieldManager = "evenkeel"

// RollbackFieldManager is the field manager of rollbacks.
const RollbackFieldManager = "evenkeel-rollback"
