package remediate

import (
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// A breaker that has nothing new to tell isn't written, however often it is looked at.
func TestAQuietBreakerIsWrittenOnce(t *testing.T) {
	c := newCircuit(t)
	c.scan.objects = 7
	c.admitted(c.plan("a"))
	c.reconciled("policy-tags")
	writes := c.kept.writes
	for range 200 {
		c.after(stormPoll)
		c.reconciled("policy-tags")
	}
	if n := c.kept.writes - writes; n > 1 {
		t.Errorf("a quiet breaker was written %d times in half an hour", n)
	}
	if st := c.read("policy-tags").Status.Storm; st == nil || st.Violating != 7 {
		t.Fatalf("it has forgotten its count: %+v", st)
	}
	// What wasn't written is known all the same: a rise counts from the last number.
	c.scan.objects = 107
	if st := c.reconciled("policy-tags").Status; st.State != v1alpha1.BreakerOpen {
		t.Errorf("100 new violations after a quiet time: %s (%s)", st.State, st.Message)
	}
}
