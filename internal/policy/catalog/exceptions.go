package catalog

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// SetException puts an exception in force. One that can't be read waives nothing;
// the error says why. The exception is copied.
func (c *Catalog) SetException(e *v1alpha1.PolicyException) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := types.NamespacedName{Namespace: e.Namespace, Name: e.Name}
	changed := newException(e, c.namespace)
	if old := c.exceptions[key]; old == nil || old.identity != changed.identity || !equality.Semantic.DeepEqual(old.spec, changed.spec) {
		c.exceptions[key] = changed
		c.swapWaivers()
	}
	return changed.problem
}

// DeleteException ends an exception; unknown ones are ignored.
func (c *Catalog) DeleteException(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.exceptions[key]; known {
		delete(c.exceptions, key)
		c.swapWaivers()
	}
}

// ExceptionProblem says why an exception waives nothing; nil when it does. It is
// not known while the catalog lacks this generation of it.
func (c *Catalog) ExceptionProblem(e *v1alpha1.PolicyException) (known bool, problem error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := c.exceptions[types.NamespacedName{Namespace: e.Namespace, Name: e.Name}]
	if held == nil || held.identity != identityOf(e) {
		return false, nil
	}
	return true, held.problem
}

func (c *Catalog) swapWaivers() {
	now := *c.snapshot.Load()
	now.waivers = newWaivers(c.exceptions)
	c.publish(&now)
}
