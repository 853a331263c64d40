// SPDX-License-Identifier: Apache-2.0

package breaker_test

import (
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/test/breakertest"
)

// A breaker that has nothing new to tell isn't written, however often it is looked at.
func TestAQuietBreakerIsWrittenOnce(t *testing.T) {
	c := breakertest.New(t)
	c.Scan.Objects = 7
	c.Admitted(c.Plan("a"))
	c.Reconciled("policy-tags")
	writes := c.Kept.Writes
	for range 200 {
		c.After(breaker.DefaultStormInterval)
		c.Reconciled("policy-tags")
	}
	if n := c.Kept.Writes - writes; n > 1 {
		t.Errorf("a quiet breaker was written %d times in half an hour", n)
	}
	if st := c.Read("policy-tags").Status.Storm; st == nil || st.Violating != 7 {
		t.Fatalf("it has forgotten its count: %+v", st)
	}
	// What wasn't written is known all the same: a rise counts from the last number.
	c.Scan.Objects = 107
	if st := c.Reconciled("policy-tags").Status; st.State != v1alpha1.BreakerOpen {
		t.Errorf("100 new violations after a quiet time: %s (%s)", st.State, st.Message)
	}
}
