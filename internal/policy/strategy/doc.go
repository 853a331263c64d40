// SPDX-License-Identifier: Apache-2.0

// Package strategy gives the strategy that a policy's remediation follows: what the policy
// says itself, or the RemediationStrategy that it refers to. Whoever reads how violations
// are remediated reads a policy that was resolved here, the catalog's or a copy.
//
// A reference that leads nowhere is never made up for by defaults, which might be less
// careful than what it stands for: such a policy remediates nothing. The package decides;
// it writes nothing. Start at Resolve.
package strategy
