// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"context"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ownerRole is the ClusterRole that the webhook configurations belong to, so that
// an uninstall doesn't leave behind a webhook that nobody answers: garbage
// collection removes them with it. It is meant to be the very role that grants the
// permission to write them, so that a manager which still runs can't bring them back.
type ownerRole struct {
	// reader asks the API server itself: a role that is gone must be seen to be.
	reader client.Reader
	// name is empty when the configurations belong to nobody.
	name string
}

// reference is what the configurations carry; nil when they belong to nobody. It
// errs when the role is gone or can't be read: what would outlive an uninstall
// isn't written.
func (o ownerRole) reference(ctx context.Context) (*metav1.OwnerReference, error) {
	if o.name == "" {
		return nil, nil
	}
	var role rbacv1.ClusterRole
	err := o.reader.Get(ctx, types.NamespacedName{Name: o.name}, &role)
	switch {
	case apierrors.IsNotFound(err) || err == nil && !role.DeletionTimestamp.IsZero():
		return nil, fmt.Errorf(
			"the ClusterRole %s, which --webhook-owner names, doesn't exist: make it, or leave the flag out", o.name)
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("grant the permission to get the ClusterRole %s, which --webhook-owner names: %w",
			o.name, err)
	case err != nil:
		return nil, fmt.Errorf("reading the ClusterRole %s, which --webhook-owner names: %w", o.name, err)
	}
	return &metav1.OwnerReference{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole", Name: role.Name,
		UID: role.UID}, nil
}

// ownedBy are an object's owners with the given one among them. One of that name
// with another UID was a role before it was made anew, and is replaced.
func ownedBy(refs []metav1.OwnerReference, owner *metav1.OwnerReference) []metav1.OwnerReference {
	if owner == nil || slices.Contains(refs, *owner) {
		return refs
	}
	others := slices.DeleteFunc(slices.Clone(refs), func(r metav1.OwnerReference) bool {
		return r.APIVersion == owner.APIVersion && r.Kind == owner.Kind && r.Name == owner.Name
	})
	return append(others, *owner)
}
