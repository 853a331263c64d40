// SPDX-License-Identifier: Apache-2.0

// Package serving holds what every endpoint of admission shares: it reads a review within the time
// that the API server waits, and writes and counts the answer.
//
// It must never judge what is asked, and never answer with an HTTP error what the API server would
// then let pass. Start reading at Base.
package serving
