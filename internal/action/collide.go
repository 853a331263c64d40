// SPDX-License-Identifier: Apache-2.0

package action

import (
	"slices"
	"strconv"
	"strings"
)

// Collide says whether two sets of changed fields of one object can't be written, and
// undone, apart from each other: a place of one is a place of the other or within it,
// or both add elements to the same list.
func Collide(a, b []Field) bool {
	return slices.ContainsFunc(a, func(x Field) bool {
		return slices.ContainsFunc(b, func(y Field) bool {
			return within(x.Path, y.Path) || within(y.Path, x.Path) || added(x) != "" && added(x) == added(y)
		})
	})
}

// added is the list that a field is a new element of, or "".
func added(f Field) string {
	at := strings.LastIndexByte(f.Path, '/')
	if f.HasBefore || at < 0 {
		return ""
	}
	if _, err := strconv.Atoi(f.Path[at+1:]); err != nil {
		return ""
	}
	return f.Path[:at+1]
}
