// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// RemediationMode says how far remediation goes by itself.
type RemediationMode string

const (
	// RemediationDisabled plans nothing.
	RemediationDisabled RemediationMode = "Disabled"
	// RemediationDryRun makes the plan and tries every fix as a server-side dry
	// run; it writes to no target.
	RemediationDryRun RemediationMode = "DryRun"
	// RemediationManual makes the plan, waits for a person's answer (spec.approval),
	// and rolls it out then.
	RemediationManual RemediationMode = "Manual"
	// RemediationAutomatic makes the plan and rolls it out.
	RemediationAutomatic RemediationMode = "Automatic"
)

// ActionType is what remediation may do.
type ActionType string

const (
	// ActionPatch changes fields by a JSON Patch.
	ActionPatch ActionType = "Patch"
	// ActionCreate makes another object that the violating one lacks.
	ActionCreate ActionType = "Create"
	// ActionDelete deletes the violating object.
	ActionDelete ActionType = "Delete"
	// ActionEvict evicts a Pod by the Eviction API, which respects
	// PodDisruptionBudgets.
	ActionEvict ActionType = "Evict"
	// ActionRestart restarts a workload's Pods, as kubectl rollout restart does.
	ActionRestart ActionType = "Restart"
	// ActionScale sets a workload's number of replicas.
	ActionScale ActionType = "Scale"
)

// ActionTypes are all of them.
func ActionTypes() []ActionType {
	return []ActionType{ActionPatch, ActionCreate, ActionDelete, ActionEvict, ActionRestart, ActionScale}
}

// Creates reports whether the action makes another object. It leaves the violating one as it is.
func (t ActionType) Creates() bool { return t == ActionCreate }

// Removes reports whether the violating object is gone after the action. What neither creates nor removes
// patches the violating object.
func (t ActionType) Removes() bool { return t == ActionDelete || t == ActionEvict }

// OnlyCreates says whether the actions that a strategy allows make other objects and write nothing of the one that
// violates the policy.
func OnlyCreates(allowed []ActionType) bool {
	return len(allowed) > 0 && !slices.ContainsFunc(allowed, func(t ActionType) bool { return !t.Creates() })
}

// Runs says whether the mode writes to targets.
func (m RemediationMode) Runs() bool {
	return m == RemediationAutomatic || m == RemediationManual
}

// PolicyRemediation says whether violations of a policy are remediated, by which actions, and which
// RemediationStrategy says how.
type PolicyRemediation struct {
	// mode says how far remediation goes by itself. Default: Disabled.
	// +optional
	// +kubebuilder:validation:Enum=Disabled;DryRun;Manual;Automatic
	Mode RemediationMode `json:"mode,omitempty"`
	// allowedActions are the verbs that the policy's fixes may use. Default: Patch.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Enum=Patch;Create;Delete;Evict;Restart;Scale
	AllowedActions []ActionType `json:"allowedActions,omitempty"`
	// strategyRef names the RemediationStrategy that says how violations are remediated.
	// While there is none of that name, the policy gates and scans, and nothing is
	// remediated. Default: the one named default; where there is none of that name, the
	// defaults of RemediationStrategy apply.
	// +optional
	StrategyRef *StrategyReference `json:"strategyRef,omitempty"`

	RemovedFromPolicy `json:",inline"`
}

// StrategyReference names a RemediationStrategy.
type StrategyReference struct {
	// name is the RemediationStrategy's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// RemediationStrategySpec says how violations are remediated.
type RemediationStrategySpec struct {
	// steps are the shares of all targets that are fixed one after the other. The first
	// is the canary. A last step of 100% is implied, which soaks as long as the step
	// before it. A step that adds no target to those before it is left out.
	// Default: 1, 5%, 25%.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:XValidation:rule="self.size() < 2 || self.filter(s, has(s.selector)).size() == (has(self[0].selector) ? 1 : 0)",message="only the first step, the canary, may have a selector: to fix a part of the fleet first, use stages"
	// +kubebuilder:validation:XValidation:rule="!self.exists(s, s.targets == '100%' && has(s.approval))",message="a step of 100% can't have approval: no step follows that could wait for it"
	// +kubebuilder:validation:XValidation:rule="self.filter(s, s.targets == '100%').size() == (self.size() > 0 && self[self.size() - 1].targets == '100%' ? 1 : 0)",message="no step may follow one of 100%: all targets are fixed by then"
	Steps []RolloutStep `json:"steps,omitempty"`
	// stages split the rollout by environment: the targets of the first stage are
	// fixed first, in steps of their own, then those of the next;
	// targets that no stage chooses come last. A target belongs to the first
	// stage that chooses it.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Stages []RolloutStage `json:"stages,omitempty"`
	// maxInFlight is the largest number of the plan's targets in flight: written, or about to
	// be, and not verified yet. It is a count, or a percentage of the targets that the plan
	// may write (rounded down, at least 1); at most 100 in any case. Default: 10.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([1-9][0-9]?|100)%$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 1 && self <= 100",message="maxInFlight must be a count from 1 to 100, or a percentage from 1% to 100%"
	MaxInFlight *intstr.IntOrString `json:"maxInFlight,omitempty"`
	// maxPerNamespace is the largest number of targets in flight in one namespace, over all
	// plans in progress: of several limits the most restrictive holds, those of other plans
	// included. Default: any number.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MaxPerNamespace *int32 `json:"maxPerNamespace,omitempty"`
	// maxTargets is the largest number of targets to fix in one plan; what is left
	// waits for the next plan, which begins with a canary of its own. Objects that
	// are left to their owners don't count.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	MaxTargets *int32 `json:"maxTargets,omitempty"`
	// progressDeadline is the longest time that a wave's targets may take to be
	// verified, soak not counted; then the wave is rolled back. Default: 10m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(h|m|s|ms|µs))+$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="progressDeadline must be a duration from 1s to 24h, such as 30s, 5m or 1h30m"
	ProgressDeadline metav1.Duration `json:"progressDeadline,omitempty,omitzero"`
	// retryLimit is how often one target is tried again after a transient error
	// before it counts as failed. Default: 5.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=20
	RetryLimit *int32 `json:"retryLimit,omitempty"`
	// windows are the times at which writes may begin; none means always.
	// Verification, soak and rollback go on outside them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Windows []MaintenanceWindow `json:"windows,omitempty"`
	// analysis asks metrics, after a wave's soak has begun, whether the wave does harm.
	// +optional
	Analysis *AnalysisStrategy `json:"analysis,omitempty"`
	// health says how the health of targets is determined that neither Kubernetes nor their
	// own conditions tell.
	// +optional
	Health *HealthStrategy `json:"health,omitempty"`
	// approval says who must approve a plan in mode Manual, and for how long
	// the answer is waited for.
	// +optional
	Approval ApprovalStrategy `json:"approval,omitempty,omitzero"`
	// onFailure says what happens when a wave fails its verification. Default: Rollback.
	// +optional
	// +kubebuilder:validation:Enum=Rollback;Hold
	OnFailure FailureAction `json:"onFailure,omitempty"`
	// rollbackScope says how much a rollback undoes. Default: Wave.
	// +optional
	// +kubebuilder:validation:Enum=Wave;All
	RollbackScope RollbackScope `json:"rollbackScope,omitempty"`
	// managedObjects says what happens to objects that another tool manages
	// (Argo CD, Flux, Helm, Config Sync). Default: Notify.
	// +optional
	// +kubebuilder:validation:Enum=Notify;Remediate
	ManagedObjects ManagedObjectsPolicy `json:"managedObjects,omitempty"`
	// escalation says when people are notified.
	// +optional
	Escalation EscalationStrategy `json:"escalation,omitempty,omitzero"`
	// history says how long ended plans stay readable.
	// +optional
	History HistoryStrategy `json:"history,omitempty,omitzero"`
	// breaker says when the policy's circuit breaker opens.
	// +optional
	Breaker BreakerStrategy `json:"breaker,omitempty,omitzero"`

	RemovedFromStrategy `json:",inline"`
}

// RolloutStep is a share of all targets that is fixed before the rollout goes on.
type RolloutStep struct {
	// targets is the share of all targets that is fixed when the step is done, those of
	// the steps before it included: a count, or a percentage (rounded down, at least 1).
	// It never falls from one step to the next.
	// +required
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([1-9][0-9]?|100)%$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 1",message="targets must be a count of at least 1, or a percentage from 1% to 100%"
	Targets intstr.IntOrString `json:"targets"`
	// soak is how long the step must stay verified without a break before the next
	// begins; 0s asks for none beyond the verification. Default: 1m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(h|m|s|ms|µs))+$') && duration(self) >= duration('0s') && duration(self) <= duration('168h')",message="soak must be a duration from 0s to 168h, such as 30s, 5m or 1h30m"
	Soak *metav1.Duration `json:"soak,omitempty"`
	// selector chooses the targets that the first step, the canary, may be drawn from;
	// without it, all. When no target is chosen, no plan is made.
	// +optional
	Selector *TargetSelector `json:"selector,omitempty"`
	// approval is Required if the next step begins only after a person's approval
	// (spec.approval of the Remediation), in mode Automatic too. It is asked for when the
	// step has soaked; with stages, in each stage. A step of 100% can't have it.
	// Default: no approval.
	// +optional
	// +kubebuilder:validation:Enum=Required
	Approval StepApproval `json:"approval,omitempty"`
}

// StepApproval says whether a person must approve what follows a step.
type StepApproval string

// ApprovalRequired lets the next step begin only after a person's approval.
const ApprovalRequired StepApproval = "Required"

// CanarySelector chooses the targets that the canary may be drawn from; nil: all.
func (r *RemediationStrategySpec) CanarySelector() *TargetSelector {
	if len(r.Steps) == 0 {
		return nil
	}
	return r.Steps[0].Selector
}

// TargetSelector chooses targets. Every part that is set must agree.
type TargetSelector struct {
	// namespaceSelector chooses by the labels of the target's namespace, for
	// example env: staging; for a Namespace, by its own. A cluster-scoped target
	// has none and isn't chosen.
	// +optional
	NamespaceSelector *LabelSelector `json:"namespaceSelector,omitempty"`
	// objectSelector chooses by the target's own labels.
	// +optional
	ObjectSelector *LabelSelector `json:"objectSelector,omitempty"`
}

// RolloutStage is a part of the fleet that is fixed before what comes after it.
type RolloutStage struct {
	// name tells the stage to people, for example staging.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// selector chooses the stage's targets.
	// +required
	Selector TargetSelector `json:"selector"`
}
