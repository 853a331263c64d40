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
)

// rights finds out what the controller may not do, before it tries.
type rights struct {
	client client.Client
	mapper meta.RESTMapper
}

// scope is a kind in a namespace.
type scope struct {
	gvk       schema.GroupVersionKind
	namespace string
}

// missing returns the RBAC rules to add so that the objects can be read and
// patched, in order; none when nothing is missing. It asks for the whole cluster
// first, and namespace by namespace only where that is refused.
func (r *rights) missing(ctx context.Context, targets []v1alpha1.ObjectReference) ([]string, error) {
	scopes := map[schema.GroupVersionKind][]scope{}
	for _, t := range targets {
		gvk := schema.FromAPIVersionAndKind(t.APIVersion, t.Kind)
		s := scope{gvk, t.Namespace}
		if !slices.Contains(scopes[gvk], s) {
			scopes[gvk] = append(scopes[gvk], s)
		}
	}
	var rules []string
	for gvk, list := range scopes {
		rule, err := r.missingFor(ctx, gvk, list)
		if err != nil {
			return nil, err
		}
		if rule != "" {
			rules = append(rules, rule)
		}
	}
	slices.Sort(rules)
	return rules, nil
}

func (r *rights) missingFor(ctx context.Context, gvk schema.GroupVersionKind, list []scope) (string, error) {
	mapping, err := r.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return "", nil // a kind that is gone needs no rights; its objects are gone too
	}
	if err != nil {
		return "", fmt.Errorf("find the resource of %s: %w", gvk.GroupKind(), err)
	}
	verbs, err := r.denied(ctx, mapping.Resource, "")
	if err != nil || len(verbs) == 0 {
		return "", err
	}
	namespaces := []string{}
	for _, s := range list {
		denied, err := r.denied(ctx, mapping.Resource, s.namespace)
		if err != nil {
			return "", err
		}
		if len(denied) > 0 {
			namespaces = append(namespaces, s.namespace)
		}
	}
	if len(namespaces) == 0 {
		return "", nil
	}
	slices.Sort(namespaces)
	rule := fmt.Sprintf(`{apiGroups: ["%s"], resources: ["%s"], verbs: ["%s"]}`, mapping.Resource.Group, mapping.Resource.Resource, strings.Join(verbs, `", "`))
	if namespaces[0] == "" {
		return rule, nil // cluster-scoped
	}
	return rule + " for namespaces " + someOf(namespaces, 5), nil
}

// denied returns the verbs, of those that remediation needs, that are refused.
func (r *rights) denied(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]string, error) {
	var denied []string
	for _, verb := range []string{"get", "patch"} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Group: resource.Group, Version: resource.Version,
				Resource: resource.Resource, Verb: verb, Namespace: namespace}}}
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
