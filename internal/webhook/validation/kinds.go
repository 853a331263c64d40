// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/match"
	"evenkeel.dev/evenkeel/internal/webhook/discovery"
	"evenkeel.dev/evenkeel/internal/webhook/exempt"
)

// kindSet are kinds that a policy names.
type kindSet map[match.GroupKind]bool

// kindsNamed are those of a policy, nil for none: each kind of an entry in each of its groups, but for what only the
// product of them names, as Pod in group apps beside Pods and Deployments.
func (c *PolicyChecker) kindsNamed(p *v1alpha1.ClusterRegoPolicy) kindSet {
	out := kindSet{}
	if p == nil {
		return out
	}
	for _, res := range p.Spec.Match.Kinds {
		for _, group := range res.Groups() {
			for _, kind := range res.Kinds {
				if !c.byProduct(res, group, kind) {
					out[match.GroupKind{Group: group, Kind: kind}] = true
				}
			}
		}
	}
	return out
}

// byProduct says that an entry has the kind in another group, and another kind in the group.
func (c *PolicyChecker) byProduct(res v1alpha1.KindMatch, group, kind string) bool {
	elsewhere := func(other string) bool { return other != group && c.serves(other, kind) }
	beside := func(other string) bool { return other != kind && c.serves(group, other) }
	return slices.ContainsFunc(res.Groups(), elsewhere) && slices.ContainsFunc(res.Kinds, beside)
}

func (c *PolicyChecker) serves(group, kind string) bool {
	_, err := c.Kinds.Resolve(group, kind)
	return err == nil
}

// kinds checks that every kind is served in one of its groups at least, and every group has one of the kinds. Kinds
// that the stored policy names already pass: else nobody could correct a policy, or have it only record, while a
// CustomResourceDefinition is gone or is being replaced.
func (c *PolicyChecker) kinds(entries []v1alpha1.KindMatch, before kindSet) []problem {
	var out problems
	for i, res := range entries {
		field := fmt.Sprintf("spec.match.kinds[%d]", i)
		useful := make([]bool, len(res.Groups()))
		known := true
		for j, kind := range res.Kinds {
			message, found := c.kind(res.Groups(), kind, before, useful)
			known = known && found
			out.addIf(message, fmt.Sprintf("%s.kinds[%d]", field, j))
		}
		for j, group := range res.Groups() {
			if known && !useful[j] {
				out.addIf(fmt.Sprintf("group %q serves none of the kinds listed with it: remove it", group),
					fmt.Sprintf("%s.apiGroups[%d]", field, j))
			}
		}
	}
	return out
}

// kind looks a kind up in the groups listed with it and marks those that have it.
func (c *PolicyChecker) kind(groups []string, kind string, before kindSet, useful []bool) (message string, found bool) {
	for i, group := range groups {
		if why := exempt.NeverMatched(group, kind); why != "" {
			return fmt.Sprintf("%s can't be matched: %s; remove it", kind, why), false
		}
		_, err := c.Kinds.Resolve(group, kind)
		switch {
		case err == nil || before[match.GroupKind{Group: group, Kind: kind}]:
			useful[i], found = true, true
		case !errors.Is(err, discovery.ErrUnknownKind):
			return fmt.Sprintf("the kind could not be checked: %v; try again", err), false
		}
	}
	if found {
		return "", true
	}
	return c.unknownKind(groups, kind), false
}

func (c *PolicyChecker) unknownKind(groups []string, kind string) string {
	text := fmt.Sprintf("the API server serves no kind %q in group %q", kind, groups[0])
	if len(groups) > 1 {
		text = fmt.Sprintf("the API server serves no kind %q in any of the groups %q", kind, groups)
	}
	similar, ok := c.Kinds.Similar(kind)
	if !ok {
		return text + ": check the spelling, or install its CustomResourceDefinition first"
	}
	if similar.Kind == kind {
		return text + fmt.Sprintf(": set apiGroups to %q, which serves it", similar.Group)
	}
	return text + fmt.Sprintf(": did you mean %q of group %q?", similar.Kind, similar.Group)
}

// notServed warns of the kinds that a policy names, as the stored one does already, and that aren't served now.
func (c *PolicyChecker) notServed(p, before *v1alpha1.ClusterRegoPolicy) []string {
	var gone []string
	stored := c.kindsNamed(before)
	for gk := range c.kindsNamed(p) {
		if _, err := c.Kinds.Resolve(gk.Group, gk.Kind); stored[gk] && errors.Is(err, discovery.ErrUnknownKind) {
			gone = append(gone, schema.GroupKind(gk).String())
		}
	}
	if len(gone) == 0 {
		return nil
	}
	slices.Sort(gone)
	return []string{fit("the API server doesn't serve %s now: the policy judges it again once it does; take out what "+
		"is gone for good", strings.Join(gone, ", "))}
}
