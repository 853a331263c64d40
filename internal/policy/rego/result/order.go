// SPDX-License-Identifier: Apache-2.0

package result

import "slices"

// sortable pairs a result with the strings that order it and identify it.
type sortable[T any] struct {
	key   []string
	value T
}

// sorted orders by key and drops repetitions; nil when empty.
func sorted[T any](keyed []sortable[T]) []T {
	slices.SortFunc(keyed, func(a, b sortable[T]) int { return slices.Compare(a.key, b.key) })
	var out []T
	for i, element := range keyed {
		if i == 0 || slices.Compare(keyed[i-1].key, element.key) != 0 {
			out = append(out, element.value)
		}
	}
	return out
}
