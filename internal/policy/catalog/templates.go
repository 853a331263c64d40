// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/template"
)

// templates are the RegoTemplates by name. The map is never changed once it is in a
// snapshot.
type templates map[string]*templateEntry

// templateEntry is one template in the catalog. It is immutable.
type templateEntry struct {
	uid        types.UID
	generation int64
	spec       v1alpha1.RegoTemplateSpec
	malformed  string
	// compiled is nil where problem says why policies can't use it.
	compiled *template.Template
	problem  error
}

// find is a template by its name; the error says why policies can't use it.
func (t templates) find(name string) (*template.Template, error) {
	switch e := t[name]; {
	case e == nil:
		return nil, template.NotFound(name)
	case e.problem != nil:
		return nil, template.Failed(name, e.problem)
	default:
		return e.compiled, nil
	}
}

// TemplateStatus says how a RegoTemplate stands in the catalog.
type TemplateStatus struct {
	// UID and Generation are those of the definition last set.
	UID        types.UID
	Generation int64
	// Err says why policies can't use it as it is; nil when they can.
	Err error
}

// SetTemplate compiles a template, and every policy that names it anew: they come into force
// by it, each as if its own definition had changed. The error says why none can.
func (c *Catalog) SetTemplate(t *v1alpha1.RegoTemplate) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.snapshot.Load().templates[t.Name]; old != nil && old.same(t) {
		return old.problem
	}
	e := &templateEntry{uid: t.UID, generation: t.Generation, spec: *t.Spec.DeepCopy(),
		malformed: v1alpha1.Malformed(t)}
	e.compiled, e.problem = template.Compile(t)
	if err := c.replaceTemplate(t.Name, e); err != nil {
		return err
	}
	return e.problem
}

// DeleteTemplate takes a template away. The policies that name it keep their last good
// revision, as those do that don't compile any more.
func (c *Catalog) DeleteTemplate(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.snapshot.Load().templates[name]; known {
		// What is left was indexed before, so it can be again.
		_ = c.replaceTemplate(name, nil)
	}
}

func (e *templateEntry) same(t *v1alpha1.RegoTemplate) bool {
	return e.uid == t.UID && e.generation == t.Generation && e.malformed == v1alpha1.Malformed(t) &&
		equality.Semantic.DeepEqual(e.spec, t.Spec)
}

// replaceTemplate puts another definition in a template's place, or none, and makes the
// policies that name it anew.
func (c *Catalog) replaceTemplate(name string, e *templateEntry) error {
	before := c.snapshot.Load()
	known := maps.Clone(before.templates)
	if known == nil {
		known = templates{}
	}
	if known[name] = e; e == nil {
		delete(known, name)
	}
	entries := maps.Clone(before.entries)
	for policyName, old := range before.entries {
		if newest := old.latest(); newest.names(name) {
			entries[policyName] = c.waiting(old, next(old, newest.authored, known, c.strategies, c.engine))
		}
	}
	return c.swap(entries, known)
}

func (e *entry) names(templateName string) bool {
	return e.newest.Spec.TemplateRef != nil && e.newest.Spec.TemplateRef.Name == templateName
}

// TemplateStatus says how a template stands; false when the catalog doesn't know it.
func (c *Catalog) TemplateStatus(name string) (TemplateStatus, bool) {
	e, known := c.snapshot.Load().templates[name]
	if !known {
		return TemplateStatus{}, false
	}
	return TemplateStatus{UID: e.uid, Generation: e.generation, Err: e.problem}, true
}

// Template is a template by its name; the error says why policies can't use it.
func (s *Snapshot) Template(name string) (*template.Template, error) { return s.templates.find(name) }

// Naming are the newest definitions of the policies that name a template, with the strategies
// that they refer to and without the template's rule, sorted by name. They are shared: read them only.
func (s *Snapshot) Naming(templateName string) []*v1alpha1.ClusterRegoPolicy {
	var out []*v1alpha1.ClusterRegoPolicy
	for _, e := range s.entries {
		if newest := e.latest(); newest.names(templateName) {
			out = append(out, newest.newest)
		}
	}
	slices.SortFunc(out, func(a, b *v1alpha1.ClusterRegoPolicy) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
