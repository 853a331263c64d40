// SPDX-License-Identifier: Apache-2.0

// Package webhooktest makes what tests of admission ask with: objects, reviews,
// policies, kinds and the API server's conditions.
//
// It must never be imported by anything but tests. Start at Review.
package webhooktest
