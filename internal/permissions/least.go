// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/match"
	"evenkeel.dev/evenkeel/internal/policy/rego/facts"
)

// The labels by which config/rbac aggregates what the controller may do.
const (
	// readerLabel adds rules to what the manager may read.
	// On: ClusterRole. By: the administrator who grants the manager permissions.
	readerLabel = "rbac.evenkeel.dev/aggregate-to-reader"
	// writerLabel adds rules to what the manager may write in fixes.
	// On: ClusterRole. By: the administrator who grants the manager permissions.
	writerLabel = "rbac.evenkeel.dev/aggregate-to-writer"
)

// place is a resource, or a subresource of it.
type place struct{ group, resource string }

// grants are verbs by place.
type grants map[place]map[string]bool

func (g grants) add(at place, verbs ...string) {
	if g[at] == nil {
		g[at] = map[string]bool{}
	}
	for _, verb := range verbs {
		g[at][verb] = true
	}
}

// Least is the least that the controller must be allowed for a set of policies,
// besides its own business (config/rbac/manager_role.yaml).
type Least struct {
	// Notes say what the rules rest on that wasn't certain, sorted.
	Notes []string

	read, write grants
}

// LeastFor computes the permissions that policies need: to read and watch the kinds that
// they match and refer to, and, when they are to fix anything, to carry out the actions that they
// allow. A policy whose text can't be read is an error.
func LeastFor(policies []*v1alpha1.ClusterRegoPolicy, resources Resources) (*Least, error) {
	l := &Least{read: grants{}, write: grants{}}
	l.read.add(place{"", "namespaces"}, "get", "list", "watch")
	for _, p := range policies {
		if err := l.add(p, resources); err != nil {
			return nil, fmt.Errorf("policy %s: %w", p.Name, err)
		}
	}
	slices.Sort(l.Notes)
	l.Notes = slices.Compact(l.Notes)
	return l, nil
}

func (l *Least) add(p *v1alpha1.ClusterRegoPolicy, resources Resources) error {
	kinds := match.StandingKinds(p)
	for _, kind := range kinds {
		at, err := l.placeOf(kind, resources)
		if err != nil {
			return err
		}
		l.read.add(at, "get", "list", "watch")
	}
	for _, r := range p.Spec.Match.References {
		at, err := l.placeOf(policy.GroupKind{Group: r.APIGroup, Kind: r.Kind}, resources)
		if err != nil {
			return err
		}
		l.read.add(at, "get", "list", "watch")
	}
	strategy := p.Spec.Remediation.DeepCopy()
	strategy.SetDefaults()
	if strategy.Mode == v1alpha1.RemediationDisabled || len(kinds) == 0 {
		return nil
	}
	return l.fix(p, kinds, strategy.AllowedActions, resources)
}

// fix adds what a policy needs that changes objects of the kinds.
func (l *Least) fix(p *v1alpha1.ClusterRegoPolicy, kinds []policy.GroupKind, allowed []v1alpha1.ActionType,
	resources Resources) error {
	proposals, err := facts.ProposalsOf(p)
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		at, err := l.placeOf(kind, resources)
		if err != nil {
			return err
		}
		needs := onKind(kind.Group, kind.Kind, allowed)
		if len(needs) == 1 && len(needs[""]) == 1 {
			continue // no action that is allowed can be carried out on it: it is only read
		}
		for subresource, verbs := range needs {
			l.write.add(at.sub(subresource), verbs...)
		}
		if proposals.Status && slices.Contains(allowed, v1alpha1.ActionPatch) {
			l.write.add(at.sub(policy.StatusSubresource), "patch")
		}
	}
	if slices.ContainsFunc(allowed, v1alpha1.ActionType.Creates) {
		if err := l.creates(p, proposals, resources); err != nil {
			return err
		}
	}
	return l.owners(kinds, resources)
}

// creates adds the kinds that a policy's fixes make.
func (l *Least) creates(p *v1alpha1.ClusterRegoPolicy, proposals facts.Proposals, resources Resources) error {
	for _, made := range proposals.Creates {
		at, err := l.placeOf(made.GroupKind(), resources)
		if err != nil {
			return err
		}
		l.write.add(at, "get", "create", "delete")
	}
	if proposals.Opaque {
		l.Notes = append(l.Notes,
			fmt.Sprintf(
				"policy %s creates objects whose kind its Rego doesn't spell out: add get, create and delete on it",
				p.Name))
	}
	return nil
}

// owners adds the kinds through which the root of a Pod or workload is found, which
// is where it is fixed.
func (l *Least) owners(kinds []policy.GroupKind, resources Resources) error {
	workloads := match.PodTemplateKinds()
	owned := func(kind policy.GroupKind) bool { return kind == policy.PodKind() || slices.Contains(workloads, kind) }
	if !slices.ContainsFunc(kinds, owned) {
		return nil
	}
	for _, kind := range workloads {
		at, err := l.placeOf(kind, resources)
		if err != nil {
			return err
		}
		l.read.add(at, "get", "list")
	}
	return nil
}

func (l *Least) placeOf(kind policy.GroupKind, resources Resources) (place, error) {
	gk := schema.GroupKind{Group: kind.Group, Kind: kind.Kind}
	found, note, err := resources.Resource(gk)
	if err != nil {
		return place{}, fmt.Errorf("find the resource of %s: %w", gk, err)
	}
	if note != "" {
		l.Notes = append(l.Notes, note)
	}
	return place{found.Group, found.Resource}, nil
}

// sub is a subresource of the place; itself without one.
func (p place) sub(subresource string) place {
	if subresource != "" {
		p.resource += "/" + subresource
	}
	return p
}

// Lacking is the part that somebody isn't allowed in the whole cluster.
func (l *Least) Lacking(ctx context.Context, asker Asker) (*Least, error) {
	out := &Least{Notes: l.Notes, read: grants{}, write: grants{}}
	for _, part := range []struct{ from, to grants }{{l.read, out.read}, {l.write, out.write}} {
		for at, verbs := range part.from {
			resource, subresource, _ := strings.Cut(at.resource, "/")
			for verb := range verbs {
				allowed, err := asker.May(ctx, authorizationv1.ResourceAttributes{
					Group: at.group, Resource: resource, Subresource: subresource, Verb: verb})
				if err != nil {
					return nil, fmt.Errorf("ask whether %s may be done to %s: %w", verb, at.resource, err)
				}
				if !allowed {
					part.to.add(at, verb)
				}
			}
		}
	}
	return out, nil
}

// Roles are the ClusterRoles that grant it, named for what they do, and labelled so
// that the controller's own roles take them up. A role that would be empty is left
// out.
func (l *Least) Roles(name string) []rbacv1.ClusterRole {
	var roles []rbacv1.ClusterRole
	for _, r := range []struct {
		suffix, label string
		grants        grants
	}{{"read", readerLabel, l.read}, {"write", writerLabel, l.write}} {
		if len(r.grants) == 0 {
			continue
		}
		roles = append(roles, rbacv1.ClusterRole{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
			ObjectMeta: metav1.ObjectMeta{Name: name + "-" + r.suffix, Labels: map[string]string{r.label: "true"}},
			Rules:      r.grants.rules(),
		})
	}
	return roles
}

// rules writes the grants in the fewest rules of one group each, sorted.
func (g grants) rules() []rbacv1.PolicyRule {
	type key struct{ group, verbs string }
	resources := map[key][]string{}
	for at, verbs := range g {
		k := key{at.group, strings.Join(inOrder(verbs), ",")}
		resources[k] = append(resources[k], at.resource)
	}
	keys := slices.SortedFunc(maps.Keys(resources), func(a, b key) int {
		return slices.Compare([]string{a.group, a.verbs}, []string{b.group, b.verbs})
	})
	var rules []rbacv1.PolicyRule
	for _, k := range keys {
		slices.Sort(resources[k])
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{k.group}, Resources: resources[k],
			Verbs: strings.Split(k.verbs, ",")})
	}
	return rules
}

// inOrder are verbs in the order in which people write them.
func inOrder(verbs map[string]bool) []string {
	order := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	return slices.DeleteFunc(order, func(verb string) bool { return !verbs[verb] })
}
