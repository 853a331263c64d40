// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ErrUnknownKind means that the API server doesn't serve a kind, or not yet.
var ErrUnknownKind = errors.New("the API server serves no such kind")

// Resource is a kind as the API server serves it.
type Resource struct {
	// Group and Version are the API group and its preferred version.
	Group, Version string
	// Plural is the resource's name in a path, for example "deployments".
	Plural string
	// Namespaced tells whether objects live in namespaces.
	Namespaced bool
}

// Kinds finds the resources of kinds. It is safe for concurrent use.
type Kinds struct {
	build  func() (meta.RESTMapper, error)
	mu     sync.Mutex
	mapper meta.RESTMapper
	// known is what was found since the last Reset.
	known map[schema.GroupKind]Resource
}

// NewKinds takes a function that makes a fresh mapper: a mapper remembers what
// it found, and so must be replaced when definitions change.
func NewKinds(build func() (meta.RESTMapper, error)) *Kinds { return &Kinds{build: build} }

// Reset forgets what was found before.
func (k *Kinds) Reset() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mapper, k.known = nil, nil
}

// Refresh has the API be asked anew, and forgets nothing that was found: an aggregated API that doesn't answer for a
// moment is told as one without kinds, and what is served no more does no harm.
func (k *Kinds) Refresh() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mapper = nil
}

func (k *Kinds) found(gk schema.GroupKind, r Resource) Resource {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		k.known = map[schema.GroupKind]Resource{}
	}
	k.known[gk] = r
	return r
}

func (k *Kinds) before(gk schema.GroupKind) (Resource, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, ok := k.known[gk]
	return r, ok
}

func (k *Kinds) current() (meta.RESTMapper, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mapper != nil {
		return k.mapper, nil
	}
	mapper, err := k.build()
	if err != nil {
		return nil, fmt.Errorf("discovering the API: %w", err)
	}
	k.mapper = mapper
	return mapper, nil
}

// Resolve finds the resource of a kind. The error wraps ErrUnknownKind when there
// is none; any other means that the API couldn't be asked.
func (k *Kinds) Resolve(group, kind string) (Resource, error) {
	mapper, err := k.current()
	if err != nil {
		return Resource{}, err
	}
	gk := schema.GroupKind{Group: group, Kind: kind}
	mapping, err := mapper.RESTMapping(gk)
	if meta.IsNoMatchError(err) {
		if r, ok := k.before(gk); ok {
			return r, nil
		}
		return Resource{}, fmt.Errorf("%s in group %q: %w", kind, group, ErrUnknownKind)
	}
	if err != nil {
		return Resource{}, fmt.Errorf("looking up %s in group %q: %w", kind, group, err)
	}
	return k.found(gk, Resource{
		Group:      group,
		Version:    mapping.Resource.Version,
		Plural:     mapping.Resource.Resource,
		Namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace,
	}), nil
}

// Similar finds the kind that a mistaken name most likely means: the same word in
// another spelling of case or number, or in another group.
func (k *Kinds) Similar(kind string) (schema.GroupKind, bool) {
	mapper, err := k.current()
	if err != nil {
		return schema.GroupKind{}, false
	}
	plural, singular := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: kind})
	for _, word := range []string{plural.Resource, singular.Resource, strings.ToLower(kind)} {
		found, err := mapper.KindFor(schema.GroupVersionResource{Resource: word})
		if err == nil {
			return found.GroupKind(), true
		}
	}
	return schema.GroupKind{}, false
}
