// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/policy/match"
)

// permission is verbs on one resource.
type permission struct {
	resource    schema.GroupVersionResource
	subresource string
	verbs       []string
}

// text writes the permission as a rule of a ClusterRole.
func (r permission) text() string {
	plural := r.resource.Resource
	if r.subresource != "" {
		plural += "/" + r.subresource
	}
	return fmt.Sprintf(`{apiGroups: ["%s"], resources: ["%s"], verbs: ["%s"]}`, r.resource.Group, plural,
		strings.Join(r.verbs, `", "`))
}

// resources finds what serves a kind; a kind that isn't served needs no permissions.
func (in *Installation) resources(group, kind string) (schema.GroupVersionResource, bool, error) {
	mapping, err := in.Mapper.RESTMapping(schema.GroupKind{Group: group, Kind: kind})
	if meta.IsNoMatchError(err) {
		return schema.GroupVersionResource{}, false, nil
	}
	if err != nil {
		return schema.GroupVersionResource{}, false, fmt.Errorf("find the resource of kind %s: %w", kind, err)
	}
	return mapping.Resource, true, nil
}

// matched are the kinds that a policy matches, but for those of which it judges what is sent to them: nothing of
// them is read.
func matched(p *v1alpha1.ClusterRegoPolicy) (kinds []schema.GroupKind) {
	for _, kind := range match.Named(p) {
		kinds = append(kinds, schema.GroupKind(kind))
	}
	return kinds
}

func read(p *v1alpha1.ClusterRegoPolicy) []schema.GroupKind {
	kinds := matched(p)
	for _, r := range p.Spec.Match.References {
		kinds = append(kinds, schema.GroupKind{Group: r.APIGroup, Kind: r.Kind})
	}
	return kinds
}

// needs collects the permissions that a choice of verbs asks for on some kinds of each policy.
func (in *Installation) needs(list []v1alpha1.ClusterRegoPolicy,
	kinds func(*v1alpha1.ClusterRegoPolicy) []schema.GroupKind,
	verbs func(*v1alpha1.ClusterRegoPolicy, schema.GroupKind) map[string][]string) ([]permission, error) {
	byPlace := map[string]permission{}
	for i := range list {
		for _, kind := range kinds(&list[i]) {
			resource, served, err := in.resources(kind.Group, kind.Kind)
			if err != nil {
				return nil, err
			}
			if served {
				join(byPlace, resource, verbs(&list[i], kind))
			}
		}
	}
	var out []permission
	for _, key := range sorted(byPlace) {
		out = append(out, byPlace[key])
	}
	return out, nil
}

func join(byPlace map[string]permission, resource schema.GroupVersionResource, verbs map[string][]string) {
	for subresource, list := range verbs {
		key := resource.String() + "/" + subresource
		r := byPlace[key]
		r.resource, r.subresource = resource, subresource
		for _, verb := range list {
			if !slices.Contains(r.verbs, verb) {
				r.verbs = append(r.verbs, verb)
			}
		}
		byPlace[key] = r
	}
}

func (in *Installation) refused(ctx context.Context, wanted []permission) ([]permission, error) {
	var out []permission
	for _, r := range wanted {
		var lacks []string
		for _, verb := range r.verbs {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: "system:serviceaccount:" + in.Namespace + ":" + in.ServiceAccount,
				Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + in.Namespace,
					"system:authenticated"},
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Group: r.resource.Group, Version: r.resource.Version,
					Resource: r.resource.Resource, Subresource: r.subresource, Verb: verb}}}
			if err := in.Client.Create(ctx, review); err != nil {
				return nil, err
			}
			if !review.Status.Allowed {
				lacks = append(lacks, verb)
			}
		}
		if len(lacks) > 0 {
			out = append(out, permission{r.resource, r.subresource, lacks})
		}
	}
	return out, nil
}

// readPermissions looks whether the manager may read what policies match: what it can't
// read, it can't scan.
func readPermissions(ctx context.Context, in *Installation) []Finding {
	return in.permissionsOf(ctx, asked{role: "reader", status: Fail, what: "read what policies match",
		otherwise: "the checks scan and policies name what it can't read"}, read,
		func(*v1alpha1.ClusterRegoPolicy, schema.GroupKind) map[string][]string {
			return map[string][]string{"": {"get", "list", "watch"}}
		})
}

// writePermissions looks whether the manager may fix what policies with a remediation
// match. A permission that holds in some namespaces only is asked for by the plan itself.
func writePermissions(ctx context.Context, in *Installation) []Finding {
	return in.permissionsOf(ctx, asked{role: "writer", status: Warn, what: "fix what policies are to fix, cluster-wide",
		otherwise: "the check rollouts names the plan that lacks one"}, matched,
		func(p *v1alpha1.ClusterRegoPolicy, kind schema.GroupKind) map[string][]string {
			out := map[string][]string{}
			strategy := p.Spec.Remediation.DeepCopy()
			strategy.SetDefaults()
			if !strategy.Mode.Runs() {
				return out
			}
			for _, v := range action.Definitions() {
				if !slices.Contains(strategy.AllowedActions, v.Allowed) || !v.On(kind.Group, kind.Kind) {
					continue
				}
				for _, need := range v.Needs {
					out[need.Subresource] = append(out[need.Subresource], need.Verb)
				}
			}
			return out
		})
}

// asked is a check of the manager's permissions.
type asked struct {
	// role is what the missing ones are to be added to, status that of a finding, what all of them let the manager do.
	role   string
	status Status
	what   string
	// otherwise says what shows the same to whoever may not ask for others' permissions.
	otherwise string
}

func (in *Installation) permissionsOf(ctx context.Context, a asked,
	kinds func(*v1alpha1.ClusterRegoPolicy) []schema.GroupKind,
	verbs func(*v1alpha1.ClusterRegoPolicy, schema.GroupKind) map[string][]string) []Finding {
	list, found := in.policyList(ctx)
	if found != nil {
		return found
	}
	wanted, err := in.needs(list, kinds, verbs)
	if err != nil {
		return []Finding{unread("the kinds that policies match", err)}
	}
	lacks, err := in.refused(ctx, wanted)
	if err != nil {
		return []Finding{skipped("the permissions of the manager", err, a.otherwise)}
	}
	for _, r := range lacks {
		found = append(found, Finding{
			Status: a.status, Message: "the manager may not " + strings.Join(r.verbs, ", ") + " " + r.resource.Resource,
			Do: v1alpha1.AddPermissions(a.role, r.text())})
	}
	return orFine(found, "the manager may %s", a.what)
}
