// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// plansPatience is how long an answer waits for a cache of plans that isn't filled yet: what
// is said of plans at work is a warning, and no write waits for it longer.
const plansPatience = time.Second

// plans are the plans as the manager's cache has them; none while it isn't filled.
func (s *setup) plans(ctx context.Context) []v1alpha1.Remediation {
	ctx, cancel := context.WithTimeout(ctx, plansPatience)
	defer cancel()
	list := &v1alpha1.RemediationList{}
	if err := s.mgr.GetCache().List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	return list.Items
}
