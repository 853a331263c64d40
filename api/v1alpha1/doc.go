// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the API types of the group evenkeel.dev: what people
// declare (Policy, Waiver), and what Evenkeel records while it puts
// violations remediated (Remediation, RemediationSlice, RemediationBreaker).
//
// The package has types, constants and defaults only. It must never hold logic
// that decides something, and it imports nothing of this module. Start at
// ClusterRegoPolicy, then read Remediation.
//
// +kubebuilder:object:generate=true
// +groupName=evenkeel.dev
package v1alpha1
