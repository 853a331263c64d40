// SPDX-License-Identifier: Apache-2.0

// Package serving holds what every endpoint of admission shares: the server, the reader of reviews,
// and the writing and counting of answers. A review is read within the time that the API server
// waits, and within bounds of memory. It says who requests what even if its objects can't be read.
//
// It must never let a review cost more memory than was reserved for it, never judge what is asked,
// and never answer with an HTTP error what the API server would then let pass. Start reading at Base,
// then Reader.
package serving
