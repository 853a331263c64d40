// SPDX-License-Identifier: Apache-2.0

package permissions

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
)

// Finder finds out what somebody may not do, before it is tried.
type Finder struct {
	Asker  Asker
	Mapper meta.RESTMapper
}

// Need is verbs on a kind, or on a subresource of it, in a namespace; an empty
// namespace means the cluster.
type Need struct {
	Kind        schema.GroupVersionKind
	Subresource string
	Verbs       []string
	Namespace   string
}

// Text writes the need, of some of its verbs, as a rule stands in a ClusterRole.
func (n Need) Text(resource schema.GroupVersionResource, verbs []string) string {
	plural := resource.Resource
	if n.Subresource != "" {
		plural += "/" + n.Subresource
	}
	return fmt.Sprintf(`{apiGroups: ["%s"], resources: ["%s"], verbs: ["%s"]}`, resource.Group, plural,
		strings.Join(verbs, `", "`))
}

// OnTargets is what the allowed actions need on the objects: all that the strategy
// allows must be permitted. What only a fix itself tells, like the kind that it
// creates, is asked before that fix is tried.
func OnTargets(targets []v1alpha1.ObjectReference, allowed []v1alpha1.ActionType) []Need {
	var all []Need
	needs := map[schema.GroupVersionKind]map[string][]string{} // verbs by subresource
	seen := map[string]bool{}
	for _, t := range targets {
		gvk := schema.FromAPIVersionAndKind(t.APIVersion, t.Kind)
		if needs[gvk] == nil {
			needs[gvk] = onKind(gvk.Group, gvk.Kind, allowed)
		}
		if key := gvk.String() + "/" + t.Namespace; !seen[key] {
			seen[key] = true
			for subresource, verbs := range needs[gvk] {
				all = append(all, Need{gvk, subresource, verbs, t.Namespace})
			}
		}
	}
	return all
}

// onKind is what the allowed actions need on objects of a kind: verbs by subresource.
func onKind(group, kind string, allowed []v1alpha1.ActionType) map[string][]string {
	verbs := map[string][]string{"": {"get"}}
	for _, v := range action.Definitions() {
		if !slices.Contains(allowed, v.Allowed) || !v.On(group, kind) {
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

// Missing returns the RBAC rules to add, in order; none when nothing is missing.
// It asks for the whole cluster first, and namespace by namespace only where that
// is refused.
func (f *Finder) Missing(ctx context.Context, wanted []Need) ([]string, error) {
	type place struct {
		kind        schema.GroupVersionKind
		subresource string
	}
	byPlace := map[place][]Need{}
	for _, w := range wanted {
		byPlace[place{w.Kind, w.Subresource}] = append(byPlace[place{w.Kind, w.Subresource}], w)
	}
	var texts []string
	for _, list := range byPlace {
		text, err := f.missingFor(ctx, list)
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
func (f *Finder) missingFor(ctx context.Context, list []Need) (string, error) {
	kind := list[0].Kind
	mapping, err := f.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return "", nil // a kind that is gone needs no permissions; its objects are gone too
	}
	if err != nil {
		return "", fmt.Errorf("find the resource of %s: %w", kind.GroupKind(), err)
	}
	everywhere := list[0]
	everywhere.Namespace = ""
	verbs, err := f.denied(ctx, mapping.Resource, everywhere)
	if err != nil || len(verbs) == 0 {
		return "", err
	}
	namespaces := []string{}
	for _, one := range list {
		denied, err := f.denied(ctx, mapping.Resource, one)
		if err != nil {
			return "", err
		}
		if len(denied) > 0 {
			namespaces = append(namespaces, one.Namespace)
		}
	}
	if len(namespaces) == 0 {
		return "", nil
	}
	slices.Sort(namespaces)
	text := everywhere.Text(mapping.Resource, verbs)
	if namespaces[0] == "" {
		return text, nil // cluster-scoped
	}
	return text + " for namespaces " + someOf(namespaces, 5), nil
}

// denied returns the verbs of a need that are refused.
func (f *Finder) denied(ctx context.Context, resource schema.GroupVersionResource, one Need) ([]string, error) {
	var denied []string
	for _, verb := range one.Verbs {
		allowed, err := f.Asker.May(
			ctx, authorizationv1.ResourceAttributes{Group: resource.Group, Version: resource.Version,
				Resource: resource.Resource, Subresource: one.Subresource, Verb: verb, Namespace: one.Namespace})
		if err != nil {
			return nil, fmt.Errorf("ask whether %s may be written: %w", resource.Resource, err)
		}
		if !allowed {
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
