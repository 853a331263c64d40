// SPDX-License-Identifier: Apache-2.0

// Package exempt says what admission never judges, and why: kinds, and requests that a
// cluster needs to start, to finish and to clean up. Each exemption is told twice, in Go
// and as a match condition for the API server, which then doesn't even ask.
//
// It must never exempt what the condition doesn't, or the other way round, and never
// write a condition that can give an error. Start reading at Request.
package exempt
