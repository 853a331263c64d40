// SPDX-License-Identifier: Apache-2.0

package execute

// Partner is another plan that would write some of the same objects now.
type Partner struct {
	Pass *Pass
	// Ready are its targets that it would write now, by UID.
	Ready map[string]int
	// Room is how many of them it may have written.
	Room int
	// Leave gives its turn back.
	Leave func()
}
