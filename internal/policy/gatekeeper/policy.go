// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/match"
)

// constraint gives the policy with what to know of it, or what stands in its way. Warnings go to the item.
func (m *migration) constraint(object map[string]any, kind, name string, item *Item) (*v1alpha1.ClusterRegoPolicy,
	[]string, error) {
	r := m.rules[kind]
	if r == nil {
		return nil, []string{
			fmt.Sprintf("there is no ConstraintTemplate for kind %s among the files: give its file too", kind)}, nil
	}
	c, err := readConstraint(object)
	if err != nil {
		return nil, nil, err
	}
	asked, reached := m.reach(c, r, kind+"/"+name)
	item.Warnings = reached.warnings
	refused := append(c.refusals(m.opts.InMemory), reached.refused...)
	policyName, renamed, err := m.name(kind, name)
	if err != nil {
		refused = append(refused, err.Error())
	}
	for _, why := range r.refused {
		refused = append(refused, fmt.Sprintf("ConstraintTemplate %s: %s", r.of.Metadata.Name, why))
	}
	if len(refused) > 0 {
		return nil, refused, nil
	}
	p, notes, err := c.policy(policyName, r, m.opts)
	if err == nil {
		notes = slices.Concat(notes, reached.notes, asked.of(p, &reached))
		if renamed != "" {
			keepName(p, kind, name)
			notes = append(notes, renamed)
		}
		err = holds(p, r)
	}
	if err != nil {
		return nil, nil, err
	}
	if refused := beyondBounds(p); len(refused) > 0 && !m.opts.InMemory {
		return nil, refused, nil
	}
	m.names[policyName], m.names[kind+"/"+name] = true, true
	return p, notes, nil
}

// reach finds what the policy of a constraint must name, and what Gatekeeper's webhook is asked of that.
func (m *migration) reach(c *constraint, r *rule, id string) (*asked, reached) {
	only := r.of.operations()
	if m.opts.InMemory {
		only = nil // as in an audit
	}
	asked := m.asked.narrowed(only)
	out := c.Match.reach(m.kinds.keeping(m.opts.Enforced[id]), asked, m.opts.InMemory)
	if why := asked.never(only, &out); why != "" && m.asked.onAny(&out) {
		out.refused = append(out.refused, why)
	}
	return asked, out
}

func holds(p *v1alpha1.ClusterRegoPolicy, r *rule) error {
	if err := match.Validate(p); err != nil {
		return err
	}
	_, err := r.compiled.Policy(p)
	return err
}
