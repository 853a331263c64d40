// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// reached is what a policy must name to concern the objects that a constraint means.
type reached struct {
	// kinds are those that are named, and subresources what is named of others.
	kinds        []Kind
	subresources []policy.Subresource
	// notes say what to know of that, warnings what is left out of it, and refused what stands in its way.
	notes, warnings, refused []string
}

// reach finds which kinds a constraint means: match.kinds with match.scope becomes kinds that are named, and the
// namespaces such that a policy concerns the same objects. Policies that are never stored have as many kinds as it
// takes, all that there are, and leave out only what can't be told of.
func (m *constraintMatch) reach(known kindSet, by *asked, inMemory bool) (r reached) {
	if !slices.Contains([]string{"", everything, namespaced, clusterScoped}, m.Scope) {
		r.refused = []string{fmt.Sprintf("match.scope %q: give Cluster, Namespaced or *", m.Scope)}
		return r
	}
	meant, named, refused := m.meant(known.known, inMemory)
	served := meant
	if !inMemory { // where objects of any kind are given as they are, and it doesn't matter what is served
		served = r.servedOf(meant, by, known, m.Scope)
	} else if left, _ := known.withoutUnserved(meant); len(left) > 0 {
		served = left
	}
	if len(served) == 0 && len(r.subresources) == 0 && len(refused) == 0 {
		refused = append(r.notes, "match.kinds: of what it names nothing is left, so that the constraint judges "+
			"nothing: name kinds that are served, or leave it out")
	}
	if len(refused) > 0 {
		return reached{refused: refused}
	}
	if len(served) == 0 {
		m.Kinds = nil
	} else if r = m.scoped(r, served, named, known, inMemory); len(r.refused) > 0 {
		return r
	}
	m.Kinds = append(m.Kinds, subresourceEntries(r.subresources)...)
	if note := m.unnarrowed(r.subresources); note != "" {
		r.notes = append(r.notes, note)
	}
	r.refused = m.tooMany(inMemory)
	return r
}

// servedOf finds the subresources among what a constraint means, and gives those of the others that are served.
func (r *reached) servedOf(meant []Kind, by *asked, known kindSet, scope string) []Kind {
	stored, to := withoutSent(meant)
	r.subresources, r.notes = by.askedSubresources(withinScope(to, scope))
	served, note := known.withoutUnserved(stored)
	if note != "" {
		r.notes = append(r.notes, note)
	}
	return served
}

// scoped has the constraint name those of the kinds that are within its scope; named says how many it names.
func (m *constraintMatch) scoped(r reached, meant []Kind, named int, known kindSet, inMemory bool) reached {
	within, untold := m.within(meant)
	switch {
	case inMemory && len(within) > 0:
		r.warnings = untold
	case len(untold) > 0:
		return reached{refused: untold}
	}
	r.kinds = within
	if m.open() && !inMemory {
		r.notes = append(r.notes, known.opened(len(within)))
	}
	if kept := known.keptAmong(within); kept != "" {
		r.notes = append(r.notes, kept)
	}
	r.notes = append(r.notes, m.nameKinds(within, named)...)
	return r
}

// nameKinds has the constraint name some of the kinds that it means, and says what to know.
func (m *constraintMatch) nameKinds(within []Kind, named int) (notes []string) {
	if m.open() || len(within) < named {
		m.Kinds = entries(within)
	}
	m.Kinds = divided(m.Kinds)
	return m.limitToNamespaced(within)
}

// tooMany says that a policy can't be stored with so many entries.
func (m *constraintMatch) tooMany(inMemory bool) []string {
	if len(m.Kinds) <= maxEntries || inMemory {
		return nil
	}
	return []string{fmt.Sprintf("match.kinds comes to %d entries of groups and kinds, and a policy has at "+
		"most %d: name the kinds", len(m.Kinds), maxEntries)}
}

func (m *constraintMatch) open() bool {
	return len(m.Kinds) == 0 || slices.ContainsFunc(m.Kinds, isOpen)
}

func isOpen(r v1alpha1.KindMatch) bool { return opens(r.APIGroups) || opens(r.Kinds) }

func opens(names []string) bool { return len(names) == 0 || slices.Contains(names, everything) }

// meant are the kinds that match.kinds means, each once, of so many that it names. In memory the known ones are all
// that objects are given of, so that an entry may mean none.
func (m *constraintMatch) meant(known []Kind, inMemory bool) (meant []Kind, named int, refused []string) {
	given := m.Kinds
	if len(given) == 0 {
		given = []v1alpha1.KindMatch{{}}
	}
	there := slices.Concat(known, sentKinds())
	for _, r := range given {
		found := chosen(known, r)
		if len(found) == 0 && inMemory {
			found = []Kind{m.absent(r)}
		}
		if len(found) == 0 {
			refused = append(refused, fmt.Sprintf("match.kinds: no kind is known of groups %q and kinds %q: name "+
				"both, or give their CustomResourceDefinitions too", r.APIGroups, r.Kinds))
		}
		for _, k := range found {
			if named++; !byProduct(k, found, there) && !slices.ContainsFunc(meant, k.same) {
				meant = append(meant, k)
			}
		}
	}
	return meant, named, refused
}

// absent is a kind for an entry that means none of those that there are: a policy names at least one.
func (m *constraintMatch) absent(r v1alpha1.KindMatch) Kind {
	named := func(names []string, otherwise string) string {
		if opens(names) {
			return otherwise
		}
		return names[0]
	}
	k := Kind{Group: named(r.APIGroups, ""), Kind: named(r.Kinds, "Unknown"), Scope: namespaced}
	if m.Scope == clusterScoped {
		k.Scope = clusterScoped
	}
	return k
}

// chosen are the kinds of one entry of match.kinds: what is named, known or not, and of what is left open what is
// known. What is sent to subresources is meant only where its kind is named.
func chosen(known []Kind, r v1alpha1.KindMatch) (found []Kind) {
	if !opens(r.Kinds) {
		known = slices.Concat(known, sentKinds())
	}
	if isOpen(r) {
		return slices.DeleteFunc(slices.Clone(known), func(k Kind) bool {
			return !opens(r.APIGroups) && !slices.Contains(r.APIGroups, k.Group) ||
				!opens(r.Kinds) && !slices.Contains(r.Kinds, k.Kind)
		})
	}
	for _, group := range r.APIGroups {
		for _, name := range r.Kinds {
			k := Kind{Group: group, Kind: name}
			if i := slices.IndexFunc(known, k.same); i >= 0 {
				k = known[i]
			}
			found = append(found, k)
		}
	}
	return found
}

// within are those of the kinds that match.scope leaves.
func (m *constraintMatch) within(meant []Kind) (within []Kind, refused []string) {
	for _, k := range meant {
		switch {
		case m.Scope == clusterScoped && k.Scope == "":
			refused = append(refused, fmt.Sprintf("match.scope Cluster: whether %s lives in namespaces isn't known, "+
				"so that it isn't judged: give its CustomResourceDefinition too", k))
		case m.Scope == "", m.Scope == everything, k.Scope == "", k.Scope == m.Scope:
			within = append(within, k)
		}
	}
	if len(within) == 0 && len(refused) == 0 {
		refused = []string{fmt.Sprintf("match.scope %s: none of the kinds in match.kinds is of that scope, so that it "+
			"judges nothing: leave the constraint out", m.Scope)}
	}
	return within, refused
}

// limitToNamespaced has a policy take the namespaces for what they are in Gatekeeper, where cluster-scoped objects are
// in all of them, or says that it can't.
func (m *constraintMatch) limitToNamespaced(kinds []Kind) []string {
	isNamespace := Kind{Kind: "Namespace"}.same
	others := slices.ContainsFunc(kinds, func(k Kind) bool { return k.Scope != namespaced && !isNamespace(k) })
	narrowed := len(m.Namespaces) > 0 || m.NamespaceSelector != nil
	switch {
	case m.Scope == clusterScoped && !slices.ContainsFunc(kinds, isNamespace):
		m.Namespaces, m.ExcludedNamespaces, m.NamespaceSelector = nil, nil, nil
	case m.Scope == namespaced && others && !narrowed:
		m.Namespaces = []string{everything} // which no cluster-scoped object is in
	case m.Scope != namespaced && others && narrowed:
		return []string{"Gatekeeper judges cluster-scoped objects whatever namespaces are chosen, Evenkeel judges " +
			"none of them then, but for Namespaces: give those kinds a policy of their own"}
	}
	return nil
}

func entries(kinds []Kind) (out []v1alpha1.KindMatch) {
	sorted := slices.SortedFunc(slices.Values(kinds), func(a, b Kind) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind))
	})
	for _, k := range sorted {
		last := len(out) - 1
		if last < 0 || out[last].APIGroups[0] != k.Group || len(out[last].Kinds) == maxKinds {
			out = append(out, v1alpha1.KindMatch{APIGroups: []string{k.Group}})
			last++
		}
		out[last].Kinds = append(out[last].Kinds, k.Kind)
	}
	return out
}
