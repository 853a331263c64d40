// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// sentKinds are the kinds that are sent to subresources, such as Eviction, and stored nowhere. Gatekeeper's constraints
// name them as any other kind; a policy names the subresource.
func sentKinds() (kinds []Kind) {
	for _, s := range policy.Subresources() {
		k := Kind{Group: s.Sent.Group, Kind: s.Sent.Kind}
		if !slices.ContainsFunc(kinds, k.same) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// withoutSent are kinds without those that are sent to subresources, and these subresources.
func withoutSent(kinds []Kind) (stored []Kind, to []policy.Subresource) {
	for _, k := range kinds {
		n := len(to)
		for _, s := range policy.Subresources() {
			if k.same(Kind{Group: s.Sent.Group, Kind: s.Sent.Kind}) {
				to = append(to, s)
			}
		}
		if len(to) == n {
			stored = append(stored, k)
		}
	}
	return stored, to
}

// withinScope are those of the subresources whose objects are of a scope (match.scope).
func withinScope(named []policy.Subresource, scope string) []policy.Subresource {
	if scope == "" || scope == everything {
		return named
	}
	return slices.DeleteFunc(slices.Clone(named), func(s policy.Subresource) bool {
		return !slices.ContainsFunc(BuiltIn(), func(k Kind) bool {
			return k.Group == s.Parent.Group && k.Kind == s.Parent.Kind && k.Scope == scope
		})
	})
}

// unnarrowed says of which subresources Gatekeeper judges more than the policy, whose namespaces leave out what is in
// none; empty for none.
func (m *constraintMatch) unnarrowed(named []policy.Subresource) string {
	clusterwide := withinScope(named, clusterScoped)
	if len(clusterwide) == 0 || len(m.Namespaces) == 0 && m.NamespaceSelector == nil {
		return ""
	}
	return fmt.Sprintf("Gatekeeper judges %s whatever namespaces are chosen, Evenkeel doesn't judge it then: give "+
		"it a constraint of its own", clusterwide[0])
}

// askedSubresources are those of the subresources that Gatekeeper's webhook is asked about; the notes say of the others
// that they are left out.
func (a *asked) askedSubresources(named []policy.Subresource) (left []policy.Subresource, notes []string) {
	for _, s := range named {
		if a.ofSubresource(s) {
			left = append(left, s)
			continue
		}
		note := fmt.Sprintf("%s on %s is left out: Gatekeeper's webhook isn't asked about %s there, so that the "+
			"constraint never judges it", s.Sent.Kind, s, s.Operation)
		if a.untold(v1alpha1.Operation(s.Operation)) {
			note += "; where yours is asked, give its ValidatingWebhookConfiguration too, or --operations"
		}
		notes = append(notes, note)
	}
	return left, notes
}

// ofSubresource says whether the webhook is asked about a subresource: of resources "*" names none.
func (a *asked) ofSubresource(s policy.Subresource) bool {
	op := v1alpha1.Operation(s.Operation)
	if a.rules == nil {
		return a.about(op)
	}
	scope := clusterScoped
	if len(withinScope([]policy.Subresource{s}, namespaced)) > 0 {
		scope = namespaced
	}
	return Asks(a.rules, op, s.Parent.Group, s.String(), scope)
}

// subresourceEntries are entries of match.kinds that name subresources, one for each kind that has them.
func subresourceEntries(of []policy.Subresource) (out []v1alpha1.KindMatch) {
	for _, s := range of {
		i := slices.IndexFunc(out, func(r v1alpha1.KindMatch) bool {
			return r.APIGroups[0] == s.Parent.Group && r.Kinds[0] == s.Parent.Kind
		})
		if i < 0 {
			out = append(out, v1alpha1.KindMatch{APIGroups: []string{s.Parent.Group},
				Kinds: []string{s.Parent.Kind}})
			i = len(out) - 1
		}
		if name := v1alpha1.Subresource(s.Name); !slices.Contains(out[i].Subresources, name) {
			out[i].Subresources = append(out[i].Subresources, name)
		}
	}
	return out
}
