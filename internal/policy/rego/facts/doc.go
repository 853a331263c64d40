// SPDX-License-Identifier: Apache-2.0

// Package facts tells what a policy may read and do from its modules alone, without judging anything.
// Where the modules don't tell, it says that the policy may: a fact that is missing must never
// be taken for one that is not so.
//
// Start at ReadsOf, ProposalsOf and MentionsOf.
package facts
