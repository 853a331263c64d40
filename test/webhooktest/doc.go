// SPDX-License-Identifier: Apache-2.0

// Package webhooktest makes what tests of admission ask with: objects, reviews,
// policies, kinds and the API server's conditions.
//
// Start at Review.
package webhooktest
