// SPDX-License-Identifier: Apache-2.0

// Package result reads what rules give, in the terms of internal/policy: violations,
// warnings and the actions of a fix. It holds them to bounds before they are written out.
// A violation that is malformed is a violation all the same. It evaluates nothing.
//
// Start at Decoder.
package result
