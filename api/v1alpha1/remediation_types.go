// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Remediation is one immutable plan of a policy's fixes; its status is the rollout.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=rem,categories=evenkeel
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Policy",type=string,JSONPath=`.spec.plan.policy.name`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name="Targets",type=integer,JSONPath=`.spec.plan.targets`
// +kubebuilder:printcolumn:name="Done",type=integer,JSONPath=`.status.counts.done`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.counts.failed`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Wave",type=string,priority=1,JSONPath=`.status.wave`
// +kubebuilder:printcolumn:name="Skipped",type=integer,priority=1,JSONPath=`.status.counts.skipped`
// +kubebuilder:printcolumn:name="Reverted",type=integer,priority=1,JSONPath=`.status.counts.reverted`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.message`
type Remediation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the plan, which never changes, and what people say of its rollout.
	// +required
	Spec RemediationSpec `json:"spec"`
	// status is the rollout.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status RemediationStatus `json:"status,omitempty"`
}

// RemediationList is a list of Remediation objects.
// +kubebuilder:object:root=true
type RemediationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Remediation `json:"items"`
}

// RemediationSpec is a plan, which never changes, and what people ask of its rollout.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.desiredState) || oldSelf.desiredState in ['Running', 'Paused'] || has(self.desiredState) && (self.desiredState == oldSelf.desiredState || self.desiredState == 'Undone')",message="an abort or an undo can't be taken back; a plan that was aborted can be undone. To plan again: evenkeel rollout retry"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.approval) || has(self.approval) && (self.approval == oldSelf.approval || (has(self.approval.wave) ? self.approval.wave : 0) > (has(oldSelf.approval.wave) ? oldSelf.approval.wave : 0))",message="an answer can't be changed or taken back, and only one to a later wave may follow: abort the plan to end it, and retry it to have its policy planned again"
// +kubebuilder:validation:XValidation:rule="!has(self.pausedUntilTime) || has(self.desiredState) && self.desiredState == 'Paused'",message="pausedUntilTime is the end of a pause: it needs desiredState Paused; remove it (null) with any other"
type RemediationSpec struct {
	// plan is what was decided when the plan was made. It never changes.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a plan is immutable: delete the Remediation and let the controller plan again"
	Plan RemediationPlan `json:"plan"`
	// desiredState is what people want of the rollout. Absent means Running. Each change
	// asks for a verb on the policy: pause to pause and to go on, abort, undo.
	// Running and Paused can become any other; Aborted can become Undone alone, and
	// Undone nothing.
	// +optional
	DesiredState DesiredState `json:"desiredState,omitempty"`
	// pausedUntilTime is when the pause ends by itself and the rollout goes on: from then on desiredState Paused means
	// Running. Absent means that it lasts until a person ends it. It needs desiredState Paused, and each change of it
	// asks for the verb pause on the policy. Admission refuses a time that has passed, and removes one that is left
	// where desiredState becomes another.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9-]{10}T[0-9:]{8}([.][0-9]+)?(Z|[-+]([01][0-9]|2[0-3]):[0-5][0-9])$`
	PausedUntilTime *metav1.Time `json:"pausedUntilTime,omitempty"`
	// retryToken asks, each time that it changes, for a plan that is held by a failed
	// wave (onFailure: Hold) to verify that wave once more, or for the policy of a plan
	// that has ended to be planned again. Any text will do, a time for example. It asks
	// for the verb retry on the policy.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	RetryToken string `json:"retryToken,omitempty"`
	// windows is Ignore to let writes of this plan begin while its maintenance windows are closed or a freeze
	// lasts. Breakers, budgets, approvals and pauses apply all the same. Each change needs the verb
	// override-windows on the policy. A plan can't be created with Ignore: a restored plan respects windows.
	// Default: Respect.
	// +optional
	Windows WindowsMode `json:"windows,omitempty"`
	// approval is a person's answer to a plan that awaits one: before its first wave in mode Manual, and after a step
	// with approval Required. It changes only to the answer to a later wave. Each change asks for the verb approve on
	// the policy.
	// +optional
	Approval *PlanApproval `json:"approval,omitempty"`
	// reason says why the spec asks for what it asks for. Admission records it with each request; a change of
	// the reason alone is none.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason,omitempty"`
}

// DesiredState is what people want of a rollout.
// +kubebuilder:validation:Enum=Running;Paused;Aborted;Undone
type DesiredState string

const (
	// StateRunning lets the rollout take its course.
	StateRunning DesiredState = "Running"
	// StatePaused lets no new write begin, until spec.pausedUntilTime if that is set. Writes in
	// flight are verified, and undone when they do harm.
	StatePaused DesiredState = "Paused"
	// StateAborted undoes the current wave (or all waves, by rollbackScope) and ends the
	// plan.
	StateAborted DesiredState = "Aborted"
	// StateUndone undoes all that the plan has written and that stands, by its recorded
	// inverse and last first, also when the rollout has ended. One that is in progress is
	// ended by it. What somebody else has changed since is kept.
	StateUndone DesiredState = "Undone"
)

// WindowsMode says whether a plan respects maintenance windows and freezes.
// +kubebuilder:validation:Enum=Respect;Ignore
type WindowsMode string

const (
	// WindowsRespect lets no write begin while the windows are closed or a freeze lasts.
	WindowsRespect WindowsMode = "Respect"
	// WindowsIgnore lets writes begin all the same, in an emergency.
	WindowsIgnore WindowsMode = "Ignore"
)

// WantsUndone says whether a person wants all of the plan undone.
func (s *RemediationSpec) WantsUndone() bool { return s.DesiredState == StateUndone }

// AskedBy is who asked for the state that the plan is in; nil when admission didn't
// see it.
func (r *Remediation) AskedBy() *RequestRecord {
	actions := map[DesiredState]RequestAction{"": ActionResume, StateRunning: ActionResume, StatePaused: ActionPause,
		StateAborted: ActionAbort, StateUndone: ActionUndo}
	return LatestRequest(Requests(r), actions[r.Spec.DesiredState], ActionPause, ActionResume, ActionAbort, ActionUndo)
}

// IgnoresWindows says whether a person lets the plan write while its windows are closed or a freeze lasts.
func (s *RemediationSpec) IgnoresWindows() bool { return s.Windows == WindowsIgnore }

// RetryAsked says whether a person wants the plan's policy to be planned again after this
// plan, which has ended.
func (r *Remediation) RetryAsked() bool {
	token := r.Spec.RetryToken
	return r.Status.Phase.Final() && token != "" && token != r.Status.LastHandledRetryToken
}

// RemediationPlan is a policy's fixes as they were planned.
type RemediationPlan struct {
	// policy is the policy whose violations the plan fixes, as it stood then.
	// +required
	Policy PlannedPolicy `json:"policy"`
	// hash identifies the plan: a digest of the policy's revision and of
	// every target with its fix.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Hash string `json:"hash"`
	// rollout is how the plan is rolled out.
	// +required
	Rollout PlannedRollout `json:"rollout"`
	// strategyRef is the RemediationStrategy that rollout was resolved from, as it stood
	// then; absent for the defaults that apply where there is none named default.
	// +optional
	StrategyRef *PlannedStrategy `json:"strategyRef,omitempty"`
	// limits are what the administrator's flags have changed of what the policy and its
	// strategy ask for.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Limits []AppliedLimit `json:"limits,omitempty"`
	// targets is the number of targets over all slices.
	// +required
	// +kubebuilder:validation:Minimum=1
	Targets int32 `json:"targets"`
	// writable is the number of targets that the plan may write; the others are left to
	// their owners.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Writable int32 `json:"writable,omitempty"`
	// waves are the waves in order; the first is the canary.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=189
	Waves []PlannedWave `json:"waves"`
	// stages are the plan's stages, when the strategy has any: each begins with
	// the wave that it names.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=9
	Stages []PlannedStage `json:"stages,omitempty"`
	// slices are the names of the RemediationSlices that hold the targets, in order.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1500
	// +kubebuilder:validation:items:MaxLength=253
	Slices []string `json:"slices"`
}

// AppliedLimit is a field of a strategy, or the mode of a policy, that asks for more than the
// cluster's administrator allows.
type AppliedLimit struct {
	// field is the field of the RemediationStrategy, or mode.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Field string `json:"field"`
	// asked is what the policy asks for.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Asked string `json:"asked"`
	// allowed is what it gets.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Allowed string `json:"allowed"`
	// flag is the manager's flag that says so.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Flag string `json:"flag"`
}

// String tells the limit to people.
func (l AppliedLimit) String() string {
	return l.Field + ": the policy asks for " + l.Asked + ", the administrator allows " + l.Allowed + " (" + l.Flag +
		")"
}

// MaxWaves is how many waves a plan has at most.
const MaxWaves = 189

// PlannedStage is a stage of a plan.
type PlannedStage struct {
	// name is the stage's name in the strategy, or "others".
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// firstWave is the wave that the stage begins with, its canary.
	// +required
	// +kubebuilder:validation:Minimum=0
	FirstWave int32 `json:"firstWave"`
}

// MaxAuthors is how many authors of a policy are named.
const MaxAuthors = 32

// PlannedPolicy names a policy at one revision.
type PlannedPolicy struct {
	// name is the policy.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// uid is the policy's UID.
	// +required
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid"`
	// generation is the policy's generation.
	// +required
	Generation int64 `json:"generation"`
	// revision is the digest of the rule that was in force.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision"`
	// author is the user who had last changed the policy's spec; empty when that
	// wasn't recorded.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Author string `json:"author,omitempty"`
	// authors are all users who had changed the policy's spec since it was made, as
	// far as admission has recorded them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	Authors []string `json:"authors,omitempty"`
	// owner is the team that gets the escalations.
	// +optional
	// +kubebuilder:validation:MaxLength=120
	Owner string `json:"owner,omitempty"`
	// runbookURL is where the person on call finds what to do.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	RunbookURL string `json:"runbookURL,omitempty"`
}

// RemediationStatus is a rollout. The fields wave, phaseStartTime,
// waveStartTime, healthyTime, heldFrom, heldTime, progressedTime, retries,
// lastHandledRetryToken, approval and analysis can't be recomputed and are read back; all others are output.
type RemediationStatus struct {
	// observedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase is where the rollout stands, shown to people: never what a client must read.
	// Read the conditions. Later versions may have more phases.
	// +optional
	Phase RemediationPhase `json:"phase,omitempty"`
	// wave is the index of the current wave; 0 is the canary.
	// +optional
	Wave int32 `json:"wave"`
	// reason is the CamelCase reason of the phase.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason,omitempty"`
	// message says what is going on, what is awaited, or what to do.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message,omitempty"`
	// heldFrom is the phase to go back to when a hold ends.
	// +optional
	HeldFrom RemediationPhase `json:"heldFrom,omitempty"`
	// heldTime is since when the rollout has waited for something that may need
	// a person: a hold, an approval, a rollback that can't go on.
	// +optional
	HeldTime *metav1.MicroTime `json:"heldTime,omitempty"`
	// progressedTime is when the plan last made progress: a target was begun or settled,
	// a wave began, or a person let the plan go on. It is kept while phases come and
	// go, and says since when a plan waits.
	// +optional
	ProgressedTime *metav1.MicroTime `json:"progressedTime,omitempty"`
	// retries counts how often a failed wave was verified once more because a person
	// asked for it.
	// +optional
	Retries int32 `json:"retries,omitempty"`
	// lastHandledRetryToken is the spec.retryToken that was acted upon, or that stood
	// there when the plan ended.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	LastHandledRetryToken string `json:"lastHandledRetryToken,omitempty"`
	// proposalDigest is the digest of the changes that a plan in mode Manual makes, once all of them are known. It
	// is what spec.approval.proposalDigest has to be.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	ProposalDigest string `json:"proposalDigest,omitempty"`
	// approval is the latest answer that the plan acts on.
	// +optional
	Approval *ApprovalRecord `json:"approval,omitempty"`
	// analysis is what metrics have said of the current wave.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=10
	Analysis []MetricRecord `json:"analysis,omitempty"`
	// failedIn are the namespaces of the targets that made a wave fail, or a canary
	// impossible; an empty text stands for objects of cluster scope. What failed in one
	// namespace alone keeps back that namespace, and no other.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	FailedIn []string `json:"failedIn,omitempty"`
	// evidence is what was seen of the first targets whose verification failed, before their
	// writes were undone. It is shown to people, and nothing is decided by it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	Evidence []FailureEvidence `json:"evidence,omitempty"`
	// phaseStartTime is when the phase began.
	// +optional
	PhaseStartTime *metav1.MicroTime `json:"phaseStartTime,omitempty"`
	// waveStartTime is when the current wave began.
	// +optional
	WaveStartTime *metav1.MicroTime `json:"waveStartTime,omitempty"`
	// healthyTime is since when the wave has been verified without a break.
	// +optional
	HealthyTime *metav1.MicroTime `json:"healthyTime,omitempty"`
	// completionTime is when a final phase was reached.
	// +optional
	CompletionTime *metav1.MicroTime `json:"completionTime,omitempty"`
	// counts is the number of targets by state.
	// +optional
	Counts TargetCounts `json:"counts,omitempty"`
	// conditions are Ready and Progressing; Approved once a person must answer; Ended once the rollout has
	// ended, and Complete if it went through all its waves; Reconciling and Stalled while they are True.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// TargetCounts is the number of targets by state; together they are all targets.
type TargetCounts struct {
	// pending targets wait for their wave, or for another try.
	// +optional
	Pending int32 `json:"pending"`
	// inFlight targets are being written or verified.
	// +optional
	InFlight int32 `json:"inFlight"`
	// done targets are fixed, verified and soaked.
	// +optional
	Done int32 `json:"done"`
	// skipped targets were left alone for a reason.
	// +optional
	Skipped int32 `json:"skipped"`
	// failed targets couldn't be fixed.
	// +optional
	Failed int32 `json:"failed"`
	// reverted targets were restored to what they were.
	// +optional
	Reverted int32 `json:"reverted"`
	// revertConflict targets couldn't be reverted.
	// +optional
	RevertConflict int32 `json:"revertConflict"`
}

// Add counts a target in a state. One in a state that this version doesn't know isn't counted.
func (c *TargetCounts) Add(state TargetState) {
	switch state {
	case TargetPending:
		c.Pending++
	case TargetIntent, TargetApplied, TargetVerified:
		c.InFlight++
	case TargetDone, TargetPreviewed:
		c.Done++
	case TargetSkipped:
		c.Skipped++
	case TargetFailed:
		c.Failed++
	case TargetReverted:
		c.Reverted++
	case TargetRevertConflict:
		c.RevertConflict++
	}
}
