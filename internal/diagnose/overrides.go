// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/override"
	"evenkeel.dev/evenkeel/internal/prose"
)

// overrides looks whether every policy is to be enforced as it declares. An override ends by the
// clock, whether the manager has written so into its status or not.
func overrides(ctx context.Context, in *Installation) []Finding {
	list, found := in.policyList(ctx)
	all := &v1alpha1.PolicyOverrideList{}
	if err := in.Client.List(ctx, all); err != nil {
		return append(found, unread("overrides of policies", err))
	}
	byName := map[string]*v1alpha1.PolicyOverride{}
	for i := range all.Items {
		byName[all.Items[i].Name] = &all.Items[i]
	}
	for _, p := range list {
		o := override.InForce(byName[p.Name], override.Policy{UID: p.UID, Declared: p.Spec.Admission.Action},
			in.Clock.Now())
		if o != nil {
			found = append(found, warned("fix the policy where it is kept, then: evenkeel policy override "+p.Name+
				" --clear", "policy %s: %s", p.Name, o))
		}
	}
	return orFine(found, "none of %s is overridden", prose.Count(len(list), "policy"))
}
