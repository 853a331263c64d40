// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PlannedRollout is how a plan is rolled out: its policy's mode and actions, and its strategy, resolved when the
// plan was made, within what the administrator allows. It shares no type with RemediationStrategy that people
// write, so that the strategy can change and plans stay readable. Closed enums are absent: a later manager may
// write more.
type PlannedRollout struct {
	// mode says how far the rollout goes by itself.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Mode RemediationMode `json:"mode"`
	// allowedActions are the verbs that fixes may use.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	AllowedActions []ActionType `json:"allowedActions,omitempty"`
	// maxInFlight is the largest number of the plan's targets in flight. 0 means that
	// what the strategy says can't be read: nothing is written.
	// +required
	MaxInFlight int32 `json:"maxInFlight"`
	// maxTotalInFlight is the largest number of targets in flight over all plans in progress
	// that the administrator allows; absent means any number.
	// +optional
	MaxTotalInFlight int32 `json:"maxTotalInFlight,omitempty"`
	// maxPerNamespace is the largest number of targets in flight in one namespace, over all
	// plans in progress; absent means any number.
	// +optional
	MaxPerNamespace int32 `json:"maxPerNamespace,omitempty"`
	// progressDeadline is the longest time that a wave's targets may take to be verified.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	ProgressDeadline metav1.Duration `json:"progressDeadline"`
	// retryLimit is how often one target is tried again after a transient error.
	// +required
	RetryLimit int32 `json:"retryLimit"`
	// windows are the times at which writes may begin; none means always.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Windows []PlannedWindow `json:"windows,omitempty"`
	// metrics are asked after a wave's soak has begun, and must all pass.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=10
	Metrics []PlannedMetric `json:"metrics,omitempty"`
	// healthRules determine the health of kinds.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	HealthRules []PlannedHealthRule `json:"healthRules,omitempty"`
	// unknownHealth says what happens to targets whose health is unknown.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UnknownHealth UnknownHealth `json:"unknownHealth,omitempty"`
	// requireDistinctApprover refuses the approval of a person who has also written the policy.
	// +optional
	RequireDistinctApprover bool `json:"requireDistinctApprover,omitempty"`
	// approvalTimeout is how long an answer is waited for before people are notified.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	ApprovalTimeout metav1.Duration `json:"approvalTimeout"`
	// escalationDeadline is how long the rollout may be held before people are notified.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	EscalationDeadline metav1.Duration `json:"escalationDeadline"`
	// onFailure says what happens when a wave fails its verification.
	// +required
	// +kubebuilder:validation:MaxLength=64
	OnFailure FailureAction `json:"onFailure"`
	// rollbackScope says how much a rollback undoes.
	// +required
	// +kubebuilder:validation:MaxLength=64
	RollbackScope RollbackScope `json:"rollbackScope"`
	// managedObjects says what happens to objects that another tool manages.
	// +required
	// +kubebuilder:validation:MaxLength=64
	ManagedObjects ManagedObjectsPolicy `json:"managedObjects"`
	// breaker says when the policy's circuit breaker opens, while its strategy isn't known.
	// +optional
	Breaker BreakerStrategy `json:"breaker,omitempty,omitzero"`
}

// PlannedWave is a run of a plan's targets that is written, verified and soaked before the next begins.
type PlannedWave struct {
	// targets is the number of targets in the wave.
	// +required
	Targets int32 `json:"targets"`
	// soak is how long the wave must stay verified without a break before the next begins.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	Soak metav1.Duration `json:"soak"`
	// approval is Required if the next wave begins only after a person's approval.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Approval StepApproval `json:"approval,omitempty"`
}

// LongestSoak is the longest soak of a wave.
func (p *RemediationPlan) LongestSoak() time.Duration {
	longest := time.Duration(0)
	for _, wave := range p.Waves {
		longest = max(longest, wave.Soak.Duration)
	}
	return longest
}

// PlannedWindow is a recurring time at which writes may begin, or, of kind Deny, may not.
type PlannedWindow struct {
	// kind is Allow or Deny.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Kind WindowKind `json:"kind,omitempty"`
	// schedule is when the window begins, in the five fields of cron.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Schedule string `json:"schedule"`
	// duration is how long it lasts, in elapsed time.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	Duration metav1.Duration `json:"duration"`
	// timeZone is the IANA name of the zone that schedule is read in.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
}

// PlannedMetric is one question to Prometheus with the condition of its answer.
type PlannedMetric struct {
	// name identifies the metric.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// query is an instant PromQL query.
	// +required
	// +kubebuilder:validation:MaxLength=4096
	Query string `json:"query"`
	// successCondition is a CEL expression over the numbers sample and baseline.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	SuccessCondition string `json:"successCondition"`
	// interval is the time between two samples.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	Interval metav1.Duration `json:"interval"`
	// samples is how many samples in a row must meet the condition.
	// +required
	Samples int32 `json:"samples"`
	// failureLimit is how many samples may miss the condition before the wave fails.
	// +optional
	FailureLimit int32 `json:"failureLimit,omitempty"`
}

// PlannedHealthRule determines the health of one kind by CEL expressions over its object.
type PlannedHealthRule struct {
	// apiGroup is the kind's API group; empty for the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	APIGroup string `json:"apiGroup,omitempty"`
	// kind is the kind.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// current is true when all is well.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Current string `json:"current"`
	// failed is true when the object has failed for good.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Failed string `json:"failed,omitempty"`
}
