// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/scheme"
)

// apiVersion is what Kubernetes takes for a version, such as v1beta1.
var apiVersion = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// Kind finds the kind that a person names: any by KIND.GROUP/VERSION, or by
// KIND.VERSION.GROUP, as kubectl takes it; by KIND or KIND.GROUP the first of those given, or else
// one of Kubernetes, in its newest version.
func Kind(name string, given ...schema.GroupVersionKind) (found schema.GroupVersionKind, known bool) {
	kind, rest, qualified := strings.Cut(name, ".")
	if group, version, full := strings.Cut(rest, "/"); full && apiVersion.MatchString(version) && group != "" {
		return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}, true
	}
	if version, group, full := strings.Cut(rest, "."); full && apiVersion.MatchString(version) {
		return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}, true
	}
	means := func(k schema.GroupVersionKind) bool {
		return strings.EqualFold(k.Kind, kind) && (!qualified || k.Group == rest)
	}
	if i := slices.IndexFunc(given, means); i >= 0 {
		return given[i], true
	}
	among := slices.DeleteFunc(builtIn(), func(k schema.GroupVersionKind) bool { return !means(k) })
	if len(among) == 0 {
		return schema.GroupVersionKind{}, false
	}
	return slices.MaxFunc(among, func(a, b schema.GroupVersionKind) int {
		return cmp.Or(version.CompareKubeAwareVersionStrings(a.Version, b.Version), -strings.Compare(a.Group, b.Group))
	}), true
}

// builtIn are the kinds of Kubernetes, in every version that it has had of late. Nothing serves those of the group
// extensions any more.
func builtIn() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for known := range scheme.Scheme.AllKnownTypes() {
		if known.Group != "extensions" && isObject(known) {
			kinds = append(kinds, known)
		}
	}
	return kinds
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
