// SPDX-License-Identifier: Apache-2.0

package remediate

// partner is another plan that would write some of the same objects now.
type partner struct {
	pass *pass
	// ready are its targets that it would write now, by UID.
	ready map[string]int
	// room is how many of them it may have written.
	room int
	// leave gives its turn back.
	leave func()
}
