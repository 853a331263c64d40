// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"fmt"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/prose"
)

// kindSet are the kinds that are known.
type kindSet struct {
	known []Kind
	// served says that they are all that a cluster serves, but for those of the groups that didn't say.
	served bool
	unsaid []string
	// kept are those of the known kinds that aren't served, and that a policy which enforces names all the same.
	kept []Kind
}

// keeping are the kinds with those of an enforcing policy that aren't served just now, or not said to be, as while a
// CustomResourceDefinition is replaced: once they are, nobody would look for what has been left out meanwhile. Their
// scope isn't known.
func (s kindSet) keeping(enforced []Kind) kindSet {
	known := s.known
	for _, k := range enforced {
		if !s.served || !Judged(k.Group, k.Kind) || slices.ContainsFunc(s.known, k.same) ||
			byProduct(k, enforced, known) {
			continue
		}
		s.known, s.kept = slices.Concat(s.known, []Kind{k}), append(s.kept, k)
	}
	return s
}

// keptAmong says which of some kinds are named though they aren't served; empty for none.
func (s kindSet) keptAmong(kinds []Kind) string {
	var names []string
	for _, k := range kinds {
		if slices.ContainsFunc(s.kept, k.same) {
			names = append(names, k.String())
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("this cluster doesn't serve %s just now, or doesn't say so; the policy enforces, and keeps "+
		"naming them: take out of it what is gone for good", strings.Join(names, ", "))
}

// byProduct says that a kind is named only because an entry of match.kinds names each of its kinds in each of its
// groups, as Pod.apps beside Pod and Deployment.apps: it isn't known, and the entry has its kind in another group, and
// another kind in its group.
func byProduct(k Kind, entry, known []Kind) bool {
	if slices.ContainsFunc(known, k.same) {
		return false
	}
	beside := func(is func(other Kind) bool) bool {
		return slices.ContainsFunc(entry, func(other Kind) bool {
			return is(other) && slices.ContainsFunc(known, other.same)
		})
	}
	return beside(func(other Kind) bool { return other.Kind == k.Kind }) &&
		beside(func(other Kind) bool { return other.Group == k.Group })
}

// unserved says that there are no objects of a kind: the cluster doesn't serve it, so that no policy may name it, or,
// where that isn't known, Kubernetes has removed it, or has it in another group.
func (s kindSet) unserved(k Kind) bool {
	if slices.ContainsFunc(s.known, k.same) || !Judged(k.Group, k.Kind) || slices.Contains(s.unsaid, k.Group) {
		return false
	}
	return s.served || removed(k) || elsewhere(k)
}

// removed says that Kubernetes has served the kind, and doesn't since 1.25 at the latest
// (kubernetes.io/docs/reference/using-api/deprecation-guide).
func removed(k Kind) bool {
	return k.Group == "extensions" || k.same(Kind{Group: "policy", Kind: "PodSecurityPolicy"})
}

// elsewhere says that the kind is Kubernetes' own, and is given a group of Kubernetes' that doesn't have it.
func elsewhere(k Kind) bool {
	of := func(group string) bool {
		return slices.ContainsFunc(BuiltIn(), func(other Kind) bool { return other.Group == group })
	}
	return of(k.Group) && slices.ContainsFunc(slices.Concat(BuiltIn(), sentKinds()), func(other Kind) bool {
		return other.Kind == k.Kind && other.Group != k.Group
	})
}

// opened says what a constraint that leaves kinds open comes to.
func (s kindSet) opened(n int) string {
	are := "those of Kubernetes 1.36, without events and leases, and those of the CustomResourceDefinitions among " +
		"the files; an older Kubernetes says which to take out; migrate it again when there are others"
	if s.served {
		are = "those that the cluster serves and lists, without events and leases; run this command again when there " +
			"are others"
	}
	return fmt.Sprintf("Gatekeeper judges whatever kind there is; the policy names %s: %s, and let the manager read "+
		"them (evenkeel rbac)", prose.Count(n, "kind"), are)
}

// withoutUnserved are those of the kinds that there may be objects of, and what to know of the others, but for those
// that are served in another group; empty for nothing.
func (s kindSet) withoutUnserved(meant []Kind) (left []Kind, note string) {
	left = slices.DeleteFunc(slices.Clone(meant), s.unserved)
	var gone []string
	for _, k := range meant {
		named := func(other Kind) bool { return other.Kind == k.Kind }
		if s.unserved(k) && !slices.ContainsFunc(left, named) {
			gone = append(gone, k.String())
		}
	}
	switch {
	case len(gone) == 0:
		return left, ""
	case s.served:
		return left, fmt.Sprintf("this cluster doesn't serve %s, which no new policy may name then: left out; run "+
			"this command again once it does", strings.Join(gone, ", "))
	}
	return left, fmt.Sprintf("Kubernetes doesn't serve %s, which no new policy may name then: left out",
		strings.Join(gone, ", "))
}
