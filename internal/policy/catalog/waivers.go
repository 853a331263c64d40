// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"errors"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// SetWaiver puts a waiver in force. One that can't be read waives nothing;
// the error says why. Nor does one that is being deleted, which is no error. The waiver is copied.
func (c *Catalog) SetWaiver(w v1alpha1.AnyWaiver) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := types.NamespacedName{Namespace: w.GetNamespace(), Name: w.GetName()}
	changed := newWaiver(w)
	if old := c.waivers[key]; old == nil || old.identity != changed.identity ||
		!equality.Semantic.DeepEqual(old.terms, changed.terms) ||
		!equality.Semantic.DeepEqual(old.match, changed.match) {
		c.waivers[key] = changed
		c.swapWaivers()
	}
	if errors.Is(changed.problem, ErrWaiverDeleted) {
		return nil
	}
	return changed.problem
}

// DeleteWaiver ends a waiver; unknown ones are ignored.
func (c *Catalog) DeleteWaiver(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.waivers[key]; known {
		delete(c.waivers, key)
		c.swapWaivers()
	}
}

// WaiverProblem says why a waiver waives nothing; nil when it does. It is
// not known while the catalog lacks this generation of it.
func (c *Catalog) WaiverProblem(w v1alpha1.AnyWaiver) (known bool, problem error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := c.waivers[types.NamespacedName{Namespace: w.GetNamespace(), Name: w.GetName()}]
	if held == nil || held.identity != identityOf(w) {
		return false, nil
	}
	return true, held.problem
}

func (c *Catalog) swapWaivers() {
	now := *c.snapshot.Load()
	now.waivers = waiversByPolicy(c.waivers)
	c.publish(&now)
}
