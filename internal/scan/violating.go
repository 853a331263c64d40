package scan

import "evenkeel.dev/evenkeel/api/v1alpha1"

// Violating is the number of objects that violate the policy, those under a waiver
// included, the revision that judged them, and whether the number is complete, as
// Findings says it. It is cheap: nothing is listed.
func (x *Index) Violating(policyName string) (objects int, revision string, complete bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	e, ok := x.policies[policyName]
	if !ok {
		return 0, "", false
	}
	return e.tally.counts.Violating + e.tally.counts.Waived, e.tally.revision, x.stateOf(e.tally) == v1alpha1.ScanComplete
}
