// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WindowKind says what a maintenance window does while it lasts.
type WindowKind string

const (
	// WindowAllow lets writes begin.
	WindowAllow WindowKind = "Allow"
	// WindowDeny lets none begin, whatever other windows say.
	WindowDeny WindowKind = "Deny"
)

// MaintenanceWindow is a recurring time at which writes may begin, or, of kind Deny, may not.
type MaintenanceWindow struct {
	// kind is what the window does while it lasts: Allow lets writes begin, Deny lets none begin, and
	// wins. Where all windows are of kind Deny, writes may begin outside them. Default: Allow.
	// +optional
	// +kubebuilder:validation:Enum=Allow;Deny
	Kind WindowKind `json:"kind,omitempty"`
	// schedule is when the window begins, in the five fields of cron: minute,
	// hour, day of month, month, day of week; for example "0 22 * * 1-5".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Schedule string `json:"schedule"`
	// duration is how long it lasts, in elapsed time, at most 7 days.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(h|m|s|ms|µs))+$') && duration(self) >= duration('1m') && duration(self) <= duration('168h')",message="duration must be a duration from 1m to 168h, such as 30s, 5m or 1h30m"
	Duration metav1.Duration `json:"duration"`
	// timeZone is the IANA name of the zone that schedule is read in. Default: UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
}

// FailureAction says what happens when a wave fails its verification.
type FailureAction string

const (
	// FailureRollback undoes the writes that rollbackScope names.
	FailureRollback FailureAction = "Rollback"
	// FailureHold writes nothing more and undoes nothing until a person decides.
	FailureHold FailureAction = "Hold"
)

// RollbackScope says how much a rollback undoes.
type RollbackScope string

const (
	// RollbackWave undoes the wave that failed; earlier waves were verified and stay.
	RollbackWave RollbackScope = "Wave"
	// RollbackAll undoes every write of the plan, the last first.
	RollbackAll RollbackScope = "All"
)

// ManagedObjectsPolicy says what happens to objects that another tool manages.
type ManagedObjectsPolicy string

const (
	// ManagedNotify leaves them alone and gives their owner the fix as a diff.
	ManagedNotify ManagedObjectsPolicy = "Notify"
	// ManagedRemediate fixes them like any other; the tool may revert them.
	ManagedRemediate ManagedObjectsPolicy = "Remediate"
)

// ApprovalStrategy says how a plan in mode Manual is approved.
type ApprovalStrategy struct {
	// requireDistinctApprover refuses the approval of a person who has also
	// written the policy as it stands. Default: false.
	// +optional
	RequireDistinctApprover bool `json:"requireDistinctApprover,omitempty"`
	// timeout is how long an answer is waited for before people are notified; the
	// plan goes on waiting. Default: 24h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(h|m|s|ms|µs))+$') && duration(self) >= duration('1s') && duration(self) <= duration('720h')",message="timeout must be a duration from 1s to 720h, such as 30s, 5m or 1h30m"
	Timeout metav1.Duration `json:"timeout,omitempty,omitzero"`
}

// EscalationStrategy says when people are notified.
type EscalationStrategy struct {
	// deadline is how long a rollout may be held before people are notified. Default: 30m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(h|m|s|ms|µs))+$') && duration(self) >= duration('1s') && duration(self) <= duration('168h')",message="deadline must be a duration from 1s to 168h, such as 30s, 5m or 1h30m"
	Deadline metav1.Duration `json:"deadline,omitempty,omitzero"`
}

// HistoryStrategy says how long ended plans stay readable. A plan goes when
// either limit is passed; the latest one always stays.
type HistoryStrategy struct {
	// limit is the largest number of ended plans that are kept. Default: 10.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Limit int32 `json:"limit,omitempty"`
	// maxAge is how long an ended plan is kept. Default: 720h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(h|m|s|ms|µs))+$') && duration(self) >= duration('1s') && duration(self) <= duration('43800h')",message="maxAge must be a duration from 1s to 43800h, such as 30s, 5m or 1h30m"
	MaxAge metav1.Duration `json:"maxAge,omitempty,omitzero"`
}
