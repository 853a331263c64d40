// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Violating is the number of objects that violate the policy, those under a waiver
// included, and those that did when they could be judged last; the revision that judged
// them; and whether the number is complete: as Findings says it, and with next to none that
// could never be judged. It is cheap: nothing is listed.
func (x *Index) Violating(policyName string) (objects int, revision string, complete bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	e, ok := x.policies[policyName]
	if !ok {
		return 0, "", false
	}
	c := e.tally.counts
	return c.Violating + c.Waived + c.ErrorsViolated, e.tally.Revision,
		x.stateOf(e.tally) == v1alpha1.ScanComplete && !c.Vague()
}

// ViolatingIn counts the same objects by namespace, the most first. Those of cluster
// scope aren't among them.
func (x *Index) ViolatingIn(policyName string) []v1alpha1.ViolatingNamespace {
	x.mu.RLock()
	defer x.mu.RUnlock()
	e, ok := x.policies[policyName]
	if !ok {
		return nil
	}
	counts := map[string]int32{}
	x.eachFault(e.tally, func(_ schema.GroupKind, _ *kindState, key string, _ *Record, f Fault) {
		if namespace, _ := SplitKey(key); namespace != "" &&
			(f.Violations > 0 || f.Waived || f.before == violated) {
			counts[namespace]++
		}
	})
	list := make([]v1alpha1.ViolatingNamespace, 0, len(counts))
	for namespace, n := range counts {
		list = append(list, v1alpha1.ViolatingNamespace{Namespace: namespace, Violating: n})
	}
	slices.SortFunc(list, func(a, b v1alpha1.ViolatingNamespace) int {
		return cmp.Or(cmp.Compare(b.Violating, a.Violating), cmp.Compare(a.Namespace, b.Namespace))
	})
	return list
}
