// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

// stopped says why a plan may begin no further target, or "". It asks the catalog,
// and the policy itself for its mode: the catalog keeps the last good revision of a
// policy that doesn't compile, but whoever turns its remediation off must be heard.
func (c *Controller) stopped(ctx context.Context, rem *v1alpha1.Remediation, snapshot *catalog.Snapshot,
	demoted *v1alpha1.BreakerDemotion) (reason, message string, err error) {
	if reason, message = stop(rem, snapshot, demoted, &c.floors); message != "" {
		return reason, message, nil
	}
	live := &v1alpha1.ClusterRegoPolicy{}
	if err := c.reader.Get(ctx, client.ObjectKey{Name: rem.Spec.Plan.Policy.Name}, live); err != nil {
		return "", "", client.IgnoreNotFound(err) // the catalog hears of that soon
	}
	live.SetDefaults()
	was, is := snapshot.Definition(rem.Spec.Plan.Policy.Name).Spec.Remediation.Mode, live.Spec.Remediation.Mode
	if string(live.UID) == rem.Spec.Plan.Policy.UID && c.floors.Mode(is) != c.floors.Mode(was) {
		return v1alpha1.ReasonPolicyChanged,
			fmt.Sprintf("policy %s changed spec.remediation.mode from %s to %s", live.Name, was, is), nil
	}
	return "", "", nil
}
