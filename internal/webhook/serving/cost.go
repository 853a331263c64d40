// SPDX-License-Identifier: Apache-2.0

package serving

// What a decoded value may cost at most, in bytes of live memory, until it is judged: as maps and slices, and as the
// terms that rules see, twice where a policy also judges the object before an update. A test measures it for the worst
// shapes.
const (
	containerCost = 1000
	leafCost      = 200
	// textCost is for each byte: the text itself, and the strings made of it.
	textCost = 3
)

// cost is the memory to reserve for a review of this text. It counts the values, which are far larger decoded than
// written, by the bytes outside of strings that begin or end one. Whether the text is JSON, the decoder finds out.
func cost(text []byte) int64 {
	var containers, leaves int64
	quoted := false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			quoted = !quoted
		case '\\':
			i++ // what is escaped ends no string
		case '{', '[':
			if !quoted {
				containers++
			}
		case ',', ':':
			if !quoted {
				leaves++
			}
		}
	}
	return containerCost*containers + leafCost*leaves + textCost*int64(len(text))
}
