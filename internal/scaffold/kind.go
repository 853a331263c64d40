// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/scheme"

	"evenkeel.dev/evenkeel/internal/prose"
)

// apiVersion is what Kubernetes takes for a version, such as v1beta1.
var apiVersion = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// Kind finds the kind that a person names: one of Kubernetes by its name alone, in
// its newest version, and any by KIND.GROUP/VERSION, or by KIND.VERSION.GROUP, as
// kubectl takes it.
func Kind(name string) (schema.GroupVersionKind, error) {
	if kind, rest, qualified := strings.Cut(name, "."); qualified {
		return qualifiedKind(name, kind, rest)
	}
	var found []schema.GroupVersionKind
	for known := range scheme.Scheme.AllKnownTypes() {
		if strings.EqualFold(known.Kind, name) && isObject(known) {
			found = append(found, known)
		}
	}
	if len(found) == 0 {
		return schema.GroupVersionKind{}, fmt.Errorf(
			"--kind %q is no kind of Kubernetes: fix its spelling, or give a kind of your own as KIND.GROUP/VERSION, "+
				"for example Certificate.cert-manager.io/v1%s",
			name, similar(name))
	}
	return slices.MaxFunc(found, func(a, b schema.GroupVersionKind) int {
		return cmp.Or(version.CompareKubeAwareVersionStrings(a.Version, b.Version), -strings.Compare(a.Group, b.Group))
	}), nil
}

// qualifiedKind is a kind with its group.
func qualifiedKind(name, kind, rest string) (schema.GroupVersionKind, error) {
	if group, version, found := strings.Cut(rest, "/"); found && apiVersion.MatchString(version) && group != "" {
		return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}, nil
	}
	if version, group, found := strings.Cut(rest, "."); found && apiVersion.MatchString(version) {
		return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}, nil
	}
	group, _, _ := strings.Cut(rest, "/")
	return schema.GroupVersionKind{}, fmt.Errorf(
		"--kind %q names no version: give KIND.GROUP/VERSION, for example %s.%s/v1; kubectl api-resources lists which "+
			"versions a cluster serves", name, kind, group)
}

// Unknown says that Kubernetes serves a group of its own without such a kind, and which
// of its kinds was most likely meant, if any. Of other groups nothing is known.
func Unknown(group, kind string) (unknown bool, meant string) {
	var kinds []string
	for known := range scheme.Scheme.AllKnownTypes() {
		switch {
		case known.Group != group || !isObject(known):
		case known.Kind == kind:
			return false, ""
		default:
			kinds = append(kinds, known.Kind)
		}
	}
	return len(kinds) > 0, prose.Nearest(kind, kinds)
}

// isObject leaves out lists and the options of requests, which nobody stores.
func isObject(kind schema.GroupVersionKind) bool {
	object, err := scheme.Scheme.New(kind)
	if err != nil {
		return false
	}
	_, err = meta.Accessor(object)
	return err == nil
}

// similar names the kinds that a part of one may have meant.
func similar(name string) string {
	kinds := map[string]bool{}
	for known := range scheme.Scheme.AllKnownTypes() {
		if strings.Contains(strings.ToLower(known.Kind), strings.ToLower(strings.TrimSuffix(name, "s"))) &&
			isObject(known) {
			kinds[known.Kind] = true
		}
	}
	if name == "" || len(kinds) == 0 || len(kinds) > 5 {
		var all []string
		for known := range scheme.Scheme.AllKnownTypes() {
			if isObject(known) {
				all = append(all, known.Kind)
			}
		}
		return prose.DidYouMean(name, all)
	}
	return " (there is " + strings.Join(slices.Sorted(maps.Keys(kinds)), ", ") + ")"
}
