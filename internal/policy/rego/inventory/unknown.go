// SPDX-License-Identifier: Apache-2.0

package inventory

// Unknown is a reference whose objects aren't known, with the reason of the API for it and what people are told.
type Unknown struct {
	Reference Reference
	Reason    string
	Err       error
	// Pending says that its first list has neither ended nor failed yet, and hasn't taken long.
	Pending bool
}
