// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/override"
)

// overrides are the PolicyOverrides by name, which is their policy's. The map is never
// changed once it is in a snapshot.
type overrides map[string]*v1alpha1.PolicyOverride

// SetOverride has a policy enforced as an override says, while that is in force. It is
// copied. Neither the policy's revision nor its definition is changed by it.
func (c *Catalog) SetOverride(o *v1alpha1.PolicyOverride) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := o.DeepCopy()
	kept.Status, kept.ManagedFields, kept.ResourceVersion = v1alpha1.PolicyOverrideStatus{}, nil, ""
	if equality.Semantic.DeepEqual(c.snapshot.Load().overrides[o.Name], kept) {
		return
	}
	c.swapOverrides(func(all overrides) { all[o.Name] = kept })
}

// DeleteOverride ends an override; unknown names are ignored.
func (c *Catalog) DeleteOverride(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.snapshot.Load().overrides[name]; known {
		c.swapOverrides(func(all overrides) { delete(all, name) })
	}
}

func (c *Catalog) swapOverrides(change func(overrides)) {
	now := *c.snapshot.Load()
	all := maps.Clone(now.overrides)
	if all == nil {
		all = overrides{}
	}
	change(all)
	now.overrides = all
	c.publish(&now)
}

// KnowsOverride says whether the catalog goes by this generation of an override.
func (c *Catalog) KnowsOverride(o *v1alpha1.PolicyOverride) bool {
	known := c.snapshot.Load().overrides[o.Name]
	return known != nil && known.UID == o.UID && known.Generation >= o.Generation
}

// HoldsOverride says whether the catalog has an override of that name.
func (c *Catalog) HoldsOverride(name string) bool { return c.snapshot.Load().overrides[name] != nil }

// Override is what a PolicyOverride makes of a policy's enforcement at a time; nil while
// none is in force. It is asked for each verdict, so that no verdict outlives its end.
func (s *Snapshot) Override(policyName string, now time.Time) *override.Override {
	o := s.overrides[policyName]
	if o == nil {
		return nil
	}
	return s.entries[policyName].overridden(o, now)
}

// overridden is what an override makes of an entry; e may be nil.
func (e *entry) overridden(o *v1alpha1.PolicyOverride, now time.Time) *override.Override {
	if e == nil || o == nil {
		return nil
	}
	return override.InForce(o, override.Policy{UID: e.authored.UID,
		Declared: e.definition().Spec.Admission.Action}, now)
}

// Overrides calls a function for each policy that is overridden at a time, in no order.
func (s *Snapshot) Overrides(now time.Time, each func(policyName string, o *override.Override)) {
	for name := range s.overrides {
		if o := s.Override(name, now); o != nil {
			each(name, o)
		}
	}
}

// Action is what admission does with the violations: what the policy declares, or what is
// in its place while it is overridden.
func (r *Result) Action() v1alpha1.AdmissionAction {
	if r.Override != nil {
		return r.Override.Action
	}
	return r.Definition.Spec.Admission.Action
}
