package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// RemediationMode says how far remediation goes by itself.
// +kubebuilder:validation:Enum=Off;DryRun;Automatic
type RemediationMode string

const (
	// RemediationOff plans nothing.
	RemediationOff RemediationMode = "Off"
	// RemediationDryRun makes the plan and tries every fix as a server-side dry
	// run; it writes to no target.
	RemediationDryRun RemediationMode = "DryRun"
	// RemediationAutomatic makes the plan and rolls it out.
	RemediationAutomatic RemediationMode = "Automatic"
)

// ActionType is a verb that remediation may use.
// +kubebuilder:validation:Enum=Patch
type ActionType string

// ActionPatch changes fields by a JSON Patch.
const ActionPatch ActionType = "Patch"

// RemediationStrategy says whether and how violations are put right.
// +kubebuilder:validation:XValidation:rule="!has(self.waves) || self.waves.size() == 0 || self.waves[self.waves.size()-1] == '100%'",message="waves must end with \"100%\": otherwise some targets are in no wave"
type RemediationStrategy struct {
	// mode says how far remediation goes by itself. Default: Off.
	// +optional
	// +kubebuilder:default=Off
	Mode RemediationMode `json:"mode,omitempty"`
	// allowedActions are the verbs that the policy's fixes may use. Default: Patch.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:default={Patch}
	AllowedActions []ActionType `json:"allowedActions,omitempty"`
	// canary is the first, smallest step.
	// +optional
	// +kubebuilder:default={}
	Canary CanaryStrategy `json:"canary,omitempty"`
	// waves are the steps after the canary: each the share of all targets that
	// is mended when the wave is done, as a count or a percentage, never
	// falling, ending with "100%". Percentages round down, at least 1.
	// Default: 5%, 25%, 100%.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:default={"5%","25%","100%"}
	Waves []intstr.IntOrString `json:"waves,omitempty"`
	// maxConcurrent is the largest number of targets being written or waiting
	// for their verification within a wave. Default: 10.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxConcurrent int32 `json:"maxConcurrent,omitempty"`
	// soak is how long a wave must stay verified without a break before the
	// next begins. Zero means the default. Default: 1m.
	// +optional
	// +kubebuilder:default="1m"
	Soak metav1.Duration `json:"soak,omitempty,omitzero"`
	// progressDeadline is the longest time that a wave's targets may take to be
	// verified, soak not counted; then the wave is rolled back. Zero means the
	// default. Default: 10m.
	// +optional
	// +kubebuilder:default="10m"
	ProgressDeadline metav1.Duration `json:"progressDeadline,omitempty,omitzero"`
	// retryLimit is how often one target is tried again after a transient error
	// before it counts as failed. Default: 5.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=20
	RetryLimit *int32 `json:"retryLimit,omitempty"`
	// breaker says when the policy's circuit breaker opens.
	// +optional
	// +kubebuilder:default={}
	Breaker BreakerStrategy `json:"breaker,omitempty"`
}

// CanaryStrategy is the first, smallest step of a rollout.
type CanaryStrategy struct {
	// size is the number of targets in the canary, as a count or a percentage
	// of all targets (rounded down, at least 1). Default: 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XIntOrString
	Size *intstr.IntOrString `json:"size,omitempty"`
	// soak is how long the canary must stay verified. Default: the strategy's soak.
	// +optional
	Soak *metav1.Duration `json:"soak,omitempty,omitzero"`
}

// BreakerStrategy says when a circuit breaker opens and for how long.
type BreakerStrategy struct {
	// consecutiveFailures opens the breaker when so many targets fail in a row.
	// Default: 3.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	ConsecutiveFailures int32 `json:"consecutiveFailures,omitempty"`
	// failureRatio opens the breaker when failures reach this percentage of the
	// outcomes in the window. Default: 20.
	// +optional
	// +kubebuilder:default=20
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	FailureRatio int32 `json:"failureRatio,omitempty"`
	// minSamples is how many outcomes the window needs before failureRatio
	// counts. Default: 5.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MinSamples int32 `json:"minSamples,omitempty"`
	// window is the length of the rolling window, kept in 6 buckets. Default: 30m.
	// +optional
	// +kubebuilder:default="30m"
	Window metav1.Duration `json:"window,omitempty,omitzero"`
	// cooldown is how long the breaker stays open the first time; it doubles
	// with each further opening, up to 24h. Default: 30m.
	// +optional
	// +kubebuilder:default="30m"
	Cooldown metav1.Duration `json:"cooldown,omitempty,omitzero"`
}
