// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/internal/policy"
)

// violation is an object that violates a policy, as it is kept.
type violation struct {
	apiVersion, kind, namespace, name string
	record                            *Record
	fault                             Fault
}

// all is more than there are.
const all = math.MaxInt / 2

// findingsOf are the first objects that violate by a tally, at most so many and one at least, in the order of Findings.
func (x *Index) findingsOf(t *Tally, most int) []policy.Finding {
	first := x.firstViolations(t, most)
	out := make([]policy.Finding, 0, len(first))
	for i := range first {
		v := &first[i]
		uid, resourceVersion := v.record.seen()
		out = append(out, policy.Finding{
			APIVersion: v.apiVersion, Kind: v.kind, Namespace: v.namespace, Name: v.name,
			UID: uid, ResourceVersion: resourceVersion, Violations: int(v.fault.Violations),
			Message: v.fault.told(v.record.name).Message, Fixable: v.fault.Fixable,
		})
	}
	return out
}

// firstViolations keeps no more than twice as many as asked for at a time: a sample of many is cheap.
func (x *Index) firstViolations(t *Tally, most int) []violation {
	var first []violation
	full := false
	x.eachFault(t, func(gk schema.GroupKind, k *kindState, key string, r *Record, f Fault) {
		if f.Violations == 0 {
			return
		}
		namespace, name := SplitKey(key)
		one := violation{k.apiVersion, gk.Kind, namespace, name, r, f}
		if full && inOrder(one, first[most-1]) > 0 {
			return
		}
		first = append(first, one)
		if len(first) >= 2*most {
			slices.SortFunc(first, inOrder)
			first, full = first[:most], true
		}
	})
	slices.SortFunc(first, inOrder)
	return first[:min(most, len(first))]
}

func inOrder(a, b violation) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.namespace, b.namespace),
		cmp.Compare(a.name, b.name), cmp.Compare(a.apiVersion, b.apiVersion))
}
