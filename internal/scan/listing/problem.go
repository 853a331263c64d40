// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"cmp"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// ErrWatchEnded means that the watch broke off and the kind must be listed
// anew. That is no failure, but what was known may be out of date.
var ErrWatchEnded = errors.New("the watch ended")

// KindError is why a kind couldn't be listed or watched.
type KindError struct {
	// Kind is the one that couldn't be read.
	Kind schema.GroupKind
	// Resource is empty when the kind couldn't be resolved to one.
	Resource schema.GroupResource
	// Err is the cause.
	Err error
	// Version is the one that was asked for; empty for any.
	Version string
	// Field is where policies name the kind. Default: spec.match.kinds.
	Field string
}

func (e *KindError) Error() string { return e.problem() }

func (e *KindError) Unwrap() error { return e.Err }

func (e *KindError) problem() string {
	switch {
	case isUnknownKind(e.Err) && e.Version != "":
		return fmt.Sprintf("%s isn't served by this cluster in version %s: install its CustomResourceDefinition, "+
			"or name a version that is served, as kubectl api-versions lists them, in the rules and in %s; "+
			"it is looked for again by itself", describe(e.Kind), e.Version, e.field())
	case isUnknownKind(e.Err):
		return fmt.Sprintf("%s isn't served by this cluster: install its CustomResourceDefinition, "+
			"or take the kind out of %s; it is looked for again by itself", describe(e.Kind), e.field())
	case apierrors.IsForbidden(e.Err):
		rule := fmt.Sprintf("{apiGroups: [%q], resources: [%q], verbs: [\"get\", \"list\", \"watch\"]}",
			e.Resource.Group, e.Resource.Resource)
		return describe(e.Kind) + " may not be read: " + v1alpha1.AddPermissions("reader", rule)
	case apierrors.IsMethodNotSupported(e.Err):
		return fmt.Sprintf("%s can't be listed, so only admission can judge it: "+
			"take the kind out of %s, or into a policy of its own", describe(e.Kind), e.field())
	case errors.Is(e.Err, ErrWatchEnded):
		return fmt.Sprintf("%s is being relisted, since its watch broke off: wait for the list to end",
			describe(e.Kind))
	default:
		return fmt.Sprintf("%s can't be listed or watched: %v; it is tried again by itself, "+
			"check that the API server answers for this kind", describe(e.Kind), e.Err)
	}
}

func (e *KindError) field() string { return cmp.Or(e.Field, "spec.match.kinds") }

// HasNoObjects says that a kind couldn't be listed because nothing is stored of it: it isn't served, or only requests
// of it are.
func HasNoObjects(err error) bool {
	var problem *KindError
	return errors.As(err, &problem) && (isUnknownKind(problem.Err) || apierrors.IsMethodNotSupported(problem.Err))
}

func isUnknownKind(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err)
}

func describe(gk schema.GroupKind) string {
	if gk.Group == "" {
		return gk.Kind + " of the core group"
	}
	return gk.Kind + " of group " + gk.Group
}

// Unreachable says that the API server can't be reached or is overloaded.
func Unreachable(err error) bool {
	return utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err)
}
