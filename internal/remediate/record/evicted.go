// SPDX-License-Identifier: Apache-2.0

package record

import (
	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// RootOfEvicted is where what an evicted Pod comes from is to be fixed.
func RootOfEvicted(write *v1alpha1.WriteRecord) v1alpha1.ObjectReference {
	if write.Root != nil {
		return *write.Root
	}
	return *write.Controller
}
