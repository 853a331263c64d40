// SPDX-License-Identifier: Apache-2.0

// Package discovery finds the resources of kinds, as the API server serves them.
//
// It must never take a failure to ask for a kind that isn't served. Start at Kinds.
package discovery
