// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// Resources tells the resources of kinds.
type Resources interface {
	// Resource is the resource of a kind. A note says in a sentence why that isn't
	// certain; it is empty when it is.
	Resource(gk schema.GroupKind) (resource schema.GroupResource, note string, err error)
}

// Served are the resources that a cluster serves. The name of one that it doesn't
// serve is guessed.
func Served(mapper meta.RESTMapper) Resources { return served{mapper} }

type served struct{ mapper meta.RESTMapper }

func (s served) Resource(gk schema.GroupKind) (schema.GroupResource, string, error) {
	mapping, err := s.mapper.RESTMapping(gk)
	switch {
	case meta.IsNoMatchError(err):
		return guess(gk), fmt.Sprintf("the cluster doesn't serve %s: the name of its resource is guessed", gk), nil
	case err != nil:
		return schema.GroupResource{}, "", err
	}
	return mapping.Resource.GroupResource(), "", nil
}

// BuiltIn are the resources of the kinds that Kubernetes brings with it (as
// client-go's scheme knows them). The name of any other is guessed.
func BuiltIn() Resources { return builtIn{} }

type builtIn struct{}

func (builtIn) Resource(gk schema.GroupKind) (schema.GroupResource, string, error) {
	for _, version := range scheme.Scheme.VersionsForGroupKind(gk) {
		if scheme.Scheme.Recognizes(version.WithKind(gk.Kind)) {
			return guess(gk), "", nil
		}
	}
	return guess(gk), fmt.Sprintf("no cluster was asked for %s: the name of its resource is guessed", gk), nil
}

// guess makes the plural by the rules that every built-in kind keeps to; those of
// apimachinery don't know that a y after a vowel stays.
func guess(gk schema.GroupKind) schema.GroupResource {
	kind := strings.ToLower(gk.Kind)
	if stem, found := strings.CutSuffix(kind, "y"); found && strings.TrimRight(stem, "aeiou") != stem {
		return schema.GroupResource{Group: gk.Group, Resource: kind + "s"}
	}
	plural, _ := meta.UnsafeGuessKindToResource(gk.WithVersion("v1"))
	return plural.GroupResource()
}
