// SPDX-License-Identifier: Apache-2.0

// Package inventory keeps what the policies in force refer to (match.references) in step with the
// cluster: it watches each kind, on every replica, and says of each whether it is known. What isn't known
// is an error to whoever asks, never an empty list.
//
// Start at New, then Store.Tables.
package inventory
