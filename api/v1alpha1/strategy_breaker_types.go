// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BreakerStrategy says when a circuit breaker opens and for how long.
type BreakerStrategy struct {
	// consecutiveFailures opens the breaker when so many targets fail in a row.
	// Default: 3.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	ConsecutiveFailures int32 `json:"consecutiveFailures,omitempty"`
	// failurePercent opens the breaker when failures reach this percentage of the
	// outcomes in the window. Default: 20.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	FailurePercent int32 `json:"failurePercent,omitempty"`
	// minSamples is how many outcomes the window needs before failurePercent
	// counts. Default: 5.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MinSamples int32 `json:"minSamples,omitempty"`
	// window is the length of the rolling window, kept in 6 buckets. Default: 30m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(h|m|s|ms|µs))+$') && duration(self) >= duration('6s') && duration(self) <= duration('24h')",message="window must be a duration from 6s to 24h, such as 30s, 5m or 1h30m"
	Window metav1.Duration `json:"window,omitempty,omitzero"`
	// cooldown is how long the breaker stays open the first time; it doubles
	// with each further opening, up to 24h. Default: 30m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(h|m|s|ms|µs))+$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="cooldown must be a duration from 1s to 24h, such as 30s, 5m or 1h30m"
	Cooldown metav1.Duration `json:"cooldown,omitempty,omitzero"`
	// storm opens the breaker when many objects begin to violate the policy at once.
	// +optional
	Storm StormStrategy `json:"storm,omitempty,omitzero"`
	// slo opens the breaker when a service's error budget burns, whatever burns it.
	// +optional
	SLO *SLOStrategy `json:"slo,omitempty"`
}

// StormStrategy says how many new violations are a storm: a wrong rule, or a
// fault that remediation doesn't understand. What a revision finds in its first
// complete scan isn't new.
type StormStrategy struct {
	// newViolations opens the breaker when so many more objects violate the policy
	// than at the least within the window. Default: 100.
	// +optional
	// +kubebuilder:validation:Minimum=1
	NewViolations int32 `json:"newViolations,omitempty"`
}

// SLOStrategy is a service level objective whose error budget stops automated
// writes: when more than half of a period's budget is spent in an hour, nothing
// is safe to change. While the query has no answer, no new write begins either.
type SLOStrategy struct {
	// query is an instant PromQL query that answers with exactly one sample: the
	// ratio of errors to all requests over the last hour, from 0 to 1.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Query string `json:"query"`
	// objective is the share of requests that must succeed, in percent, more than
	// 0 and less than 100; for example "99.9".
	// +required
	// +kubebuilder:validation:Pattern=`^[0-9]{1,2}(\.[0-9]{1,6})?$`
	// +kubebuilder:validation:MaxLength=16
	Objective string `json:"objective"`
	// period is the time that the error budget is meant for, at least 1h. Default: 720h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(h|m|s|ms|µs))+$') && duration(self) >= duration('1h') && duration(self) <= duration('8760h')",message="period must be a duration from 1h to 8760h, such as 30s, 5m or 1h30m"
	Period metav1.Duration `json:"period,omitempty,omitzero"`
}
