// SPDX-License-Identifier: Apache-2.0

package kstatus_test

import (
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/kstatus"
)

// A slice has neither conditions nor a generation that is observed.
func TestARecordIsCurrent(t *testing.T) {
	if says, err := kstatus.Of(&v1alpha1.RemediationSlice{}); err != nil || says != "Current" {
		t.Errorf("kstatus says %s, %v", says, err)
	}
}
