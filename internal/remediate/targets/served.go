// SPDX-License-Identifier: Apache-2.0

package targets

import "fmt"

// A kind that the API server doesn't serve now (its definition is replaced or
// uninstalled, its API server away) says nothing of the objects: they may be there
// again in a moment, with our writes in them. So they are neither gone nor failed, and
// wait; a rollback gives them up in the end, and says so.

// Unserved tells people that a kind isn't served.
func Unserved(err error) string {
	return fmt.Sprintf(
		"the API server doesn't serve the kind, or its version, now, so that nothing is known of the object: %v", err)
}
