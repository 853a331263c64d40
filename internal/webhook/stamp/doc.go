// SPDX-License-Identifier: Apache-2.0

// Package stamp fills in who did something: who wrote a policy, answered a plan, asked
// something of a breaker. Nobody can then speak in another's name.
//
// It must never change an object but for the fields of All, and never take the word of
// the request for who makes it. Start reading at Field.
package stamp
