package remediate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/action"
)

// rights finds out what the controller may not do, before it tries.
type rights struct {
	client client.Client
	mapper meta.RESTMapper
}

// rule is verbs on a kind, or on a subresource of it, in a namespace; an empty
// namespace means the cluster.
type rule struct {
	kind        schema.GroupVersionKind
	subresource string
	verbs       []string
	namespace   string
}

// text writes the rule as it stands in a ClusterRole.
func (r rule) text(resource schema.GroupVersionResource, verbs []string) string {
	plural := resource.Resource
	if r.subresource != "" {
		plural += "/" + r.subresource
	}
	return fmt.Sprintf(`{apiGroups: ["%s"], resources: ["%s"], verbs: ["%s"]}`, resource.Group, plural, strings.Join(verbs, `", "`))
}

// rulesFor are the rules that the allowed verbs need on the objects: all that
// the strategy allows must be permitted. What only a fix itself tells, like the
// kind that it creates, is asked before that fix is tried.
func rulesFor(targets []v1alpha1.ObjectReference, allowed []v1alpha1.ActionType) []rule {
	var rules []rule
	needs := map[schema.GroupVersionKind]map[string][]string{} // verbs by subresource
	seen := map[string]bool{}
	for _, t := range targets {
		gvk := schema.FromAPIVersionAndKind(t.APIVersion, t.Kind)
		if needs[gvk] == nil {
			needs[gvk] = needed(gvk, allowed)
		}
		if key := gvk.String() + "/" + t.Namespace; !seen[key] {
			seen[key] = true
			for subresource, verbs := range needs[gvk] {
				rules = append(rules, rule{gvk, subresource, verbs, t.Namespace})
			}
		}
	}
	return rules
}

func needed(gvk schema.GroupVersionKind, allowed []v1alpha1.ActionType) map[string][]string {
	verbs := map[string][]string{"": {"get"}}
	for _, v := range action.Verbs() {
		if !slices.Contains(allowed, v.Allowed) || !v.On(gvk.Group, gvk.Kind) {
			continue
		}
		for _, need := range v.Needs {
			if !slices.Contains(verbs[need.Subresource], need.Verb) {
				verbs[need.Subresource] = append(verbs[need.Subresource], need.Verb)
			}
		}
	}
	return verbs
}

// missing returns the RBAC rules to add, in order; none when nothing is missing.
// It asks for the whole cluster first, and namespace by namespace only where that
// is refused.
func (r *rights) missing(ctx context.Context, wanted []rule) ([]string, error) {
	type place struct {
		kind        schema.GroupVersionKind
		subresource string
	}
	byPlace := map[place][]rule{}
	for _, w := range wanted {
		byPlace[place{w.kind, w.subresource}] = append(byPlace[place{w.kind, w.subresource}], w)
	}
	var texts []string
	for _, list := range byPlace {
		text, err := r.missingFor(ctx, list)
		if err != nil {
			return nil, err
		}
		if text != "" {
			texts = append(texts, text)
		}
	}
	slices.Sort(texts)
	return texts, nil
}

// missingFor asks for rules that differ in their namespace alone.
func (r *rights) missingFor(ctx context.Context, list []rule) (string, error) {
	kind := list[0].kind
	mapping, err := r.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return "", nil // a kind that is gone needs no rights; its objects are gone too
	}
	if err != nil {
		return "", fmt.Errorf("find the resource of %s: %w", kind.GroupKind(), err)
	}
	everywhere := list[0]
	everywhere.namespace = ""
	verbs, err := r.denied(ctx, mapping.Resource, everywhere)
	if err != nil || len(verbs) == 0 {
		return "", err
	}
	namespaces := []string{}
	for _, one := range list {
		denied, err := r.denied(ctx, mapping.Resource, one)
		if err != nil {
			return "", err
		}
		if len(denied) > 0 {
			namespaces = append(namespaces, one.namespace)
		}
	}
	if len(namespaces) == 0 {
		return "", nil
	}
	slices.Sort(namespaces)
	text := everywhere.text(mapping.Resource, verbs)
	if namespaces[0] == "" {
		return text, nil // cluster-scoped
	}
	return text + " for namespaces " + someOf(namespaces, 5), nil
}

// denied returns the verbs of a rule that are refused.
func (r *rights) denied(ctx context.Context, resource schema.GroupVersionResource, one rule) ([]string, error) {
	var denied []string
	for _, verb := range one.verbs {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Group: resource.Group, Version: resource.Version,
				Resource: resource.Resource, Subresource: one.subresource, Verb: verb, Namespace: one.namespace}}}
		if err := r.client.Create(ctx, review); err != nil {
			return nil, fmt.Errorf("ask whether %s may be written: %w", resource.Resource, err)
		}
		if !review.Status.Allowed {
			denied = append(denied, verb)
		}
	}
	return denied, nil
}

func someOf(list []string, n int) string {
	if len(list) <= n {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:n], ", "), len(list)-n)
}
