// SPDX-License-Identifier: Apache-2.0

// Package intake reads admission reviews that anybody may make large, deep or
// many, within bounds of memory. It finds out who asks about what before it
// decodes an object, so that a review that can't be read whole is still answered
// for the policies that concern it.
//
// It must never let a review cost more memory than was reserved for it, and never
// judge: it knows no policy. Start reading at Reader.
package intake
