// SPDX-License-Identifier: Apache-2.0

package intake

// What a decoded value may cost at most, in bytes of live memory, from its arrival
// until it is judged: as maps and slices, and as the terms that rules see, twice
// where a policy also judges the object before an update. Managed fields count like all
// else, since somebody may ask for them. A test measures it for the worst shapes.
const (
	containerCost = 1000
	leafCost      = 200
	// textCost is for each byte: the text itself, and the strings made of it.
	textCost = 3
)

// cost is the memory to reserve for a review with such objects.
func cost(size Size, text int) int64 {
	return containerCost*int64(size.Containers) + leafCost*int64(size.Leaves) + textCost*int64(text)
}
