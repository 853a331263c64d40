// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"bytes"
	"slices"
	"strings"
	"sync/atomic"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/faultproxy"
)

// RolloutWrites matches every write of the rollout of a policy that is named as its namespace:
// those to its targets, and Evenkeel's own records. What the manager still writes of rollouts
// before it, the breaker of all among it, isn't of this one: it comes before any write that
// names the policy.
func RolloutWrites(namespace string, target faultproxy.Match) faultproxy.Match {
	records := []string{"remediations", "remediationslices", "remediationbreakers"}
	var begun atomic.Bool
	return func(r faultproxy.Request) bool {
		if !r.IsWrite() {
			return false
		}
		if strings.Contains(r.Path, namespace) || bytes.Contains(r.Body, []byte(namespace)) {
			begun.Store(true)
		}
		return begun.Load() && (r.Group == v1alpha1.GroupVersion.Group && slices.Contains(records, r.Resource) ||
			target(r))
	}
}
