// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// kindError is why a kind couldn't be listed or watched.
type kindError struct {
	kind schema.GroupKind
	// resource is empty when the kind couldn't be resolved to one.
	resource schema.GroupResource
	err      error
}

func (e *kindError) Error() string { return e.problem() }

func (e *kindError) Unwrap() error { return e.err }

// problem names the kind and says what to do.
func (e *kindError) problem() string {
	switch {
	case isUnknownKind(e.err):
		return fmt.Sprintf("%s isn't served by this cluster: install its CustomResourceDefinition, "+
			"or take the kind out of spec.match.resources; it is looked for again by itself", describe(e.kind))
	case apierrors.IsForbidden(e.err):
		return fmt.Sprintf("%s may not be read: add this rule to a ClusterRole of the controller's ServiceAccount: "+
			"{apiGroups: [%q], resources: [%q], verbs: [\"get\", \"list\", \"watch\"]}",
			describe(e.kind), e.resource.Group, e.resource.Resource)
	case apierrors.IsMethodNotSupported(e.err):
		return fmt.Sprintf("%s can't be listed, so only admission can judge it: "+
			"take the kind out of spec.match.resources, or into a policy of its own", describe(e.kind))
	case errors.Is(e.err, errWatchEnded):
		return fmt.Sprintf("%s is being listed anew, since its watch broke off: wait for the list to end",
			describe(e.kind))
	default:
		return fmt.Sprintf("%s can't be listed or watched: %v; it is tried again by itself, "+
			"check that the API server answers for this kind", describe(e.kind), e.err)
	}
}

// isUnknownKind says that the API server has no such resource, or no longer.
func isUnknownKind(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err)
}

func describe(gk schema.GroupKind) string {
	if gk.Group == "" {
		return gk.Kind + " of the core group"
	}
	return gk.Kind + " of group " + gk.Group
}

// unreachable says that the API server can't be reached or is overloaded.
func unreachable(err error) bool {
	return utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err)
}
