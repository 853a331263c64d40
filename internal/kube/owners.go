// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// maxOwners bounds how far up owners are followed. A CronJob's Pod has two.
const maxOwners = 16

// Getter reads one object anew. client.Reader is one.
type Getter interface {
	// Get reads the object under the key into out, whose kind says what is asked for.
	Get(ctx context.Context, key client.ObjectKey, out client.Object, opts ...client.GetOption) error
}

// Lineage is the chain of controllers that an object comes from.
type Lineage struct {
	// Owners are the controllers, the nearest first and the root last.
	Owners []v1alpha1.ObjectReference
	// Root is the metadata of the last of Owners; nil when it couldn't be read.
	Root *metav1.PartialObjectMetadata
	// Stopped says why the chain ends before its root is known; empty when the
	// last of Owners is the root.
	Stopped string
}

// Owned says whether a controller makes an object.
func Owned(obj metav1.Object) bool { return metav1.GetControllerOfNoCopy(obj) != nil }

// RootOf follows an object's controllers to the one that nobody owns, through any
// kind. It reads metadata only. An owner that is gone, may not be read, or closes
// a circle ends the chain there, and Stopped says so; any other failure to read
// is an error.
func RootOf(ctx context.Context, reader Getter, obj metav1.Object) (Lineage, error) {
	var l Lineage
	seen := map[string]bool{string(obj.GetUID()): true}
	for current := obj; ; {
		ref := metav1.GetControllerOfNoCopy(current)
		if ref == nil {
			return l, nil
		}
		owner := v1alpha1.ObjectReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: obj.GetNamespace(),
			Name: ref.Name, UID: string(ref.UID)}
		switch {
		case seen[owner.UID]:
			return l.stopped("%s owns itself, by way of others", describe(owner)), nil
		case len(l.Owners) == maxOwners:
			return l.stopped("there are more than %d owners one above the other", maxOwners), nil
		}
		seen[owner.UID] = true
		l.Owners, l.Root = append(l.Owners, owner), nil
		meta, err := metadataOf(ctx, reader, owner)
		if err != nil {
			return l.failed(owner, err)
		}
		if string(meta.UID) != owner.UID {
			return l.stopped("%s was deleted, and another bears its name", describe(owner)), nil
		}
		l.Owners[len(l.Owners)-1].Namespace = meta.Namespace // a cluster-scoped owner has none
		l.Root = meta
		current = meta
	}
}

// metadataOf reads an owner: in the namespace of what it owns, or cluster-scoped.
func metadataOf(ctx context.Context, reader Getter, owner v1alpha1.ObjectReference) (
	*metav1.PartialObjectMetadata, error) {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind))
	err := reader.Get(ctx, client.ObjectKey{Namespace: owner.Namespace, Name: owner.Name}, meta)
	return meta, err
}

func (l Lineage) stopped(format string, args ...any) Lineage {
	l.Stopped = fmt.Sprintf(format, args...)
	return l
}

// failed decides what an owner that can't be read means for the chain.
func (l Lineage) failed(owner v1alpha1.ObjectReference, err error) (Lineage, error) {
	switch Classify(err) {
	case Gone:
		return l.stopped("%s doesn't exist any more", describe(owner)), nil
	case Unserved:
		return l.stopped("whether %s is there isn't known: the API server doesn't serve its kind now", describe(owner)),
			nil
	case Forbidden:
		return l.stopped("whether %s has an owner of its own isn't known: grant the controller %s", describe(owner),
			missingRule(owner, err)), nil
	case OK, Conflict, Invalid, Transient:
	}
	return l, fmt.Errorf("read %s, which owns the object: %w", describe(owner), err)
}

// missingRule is the RBAC rule that lets an owner be read, as far as the API
// server's refusal tells the resource.
func missingRule(owner v1alpha1.ObjectReference, err error) string {
	group, resource := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).Group, strings.ToLower(owner.Kind)+"s"
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind != "" {
		resource = status.Status().Details.Kind // the API server names the resource there
	}
	return fmt.Sprintf(`{apiGroups: ["%s"], resources: ["%s"], verbs: ["get", "list"]}`, group, resource)
}

// String tells the chain to people: "ReplicaSet web-7d4b of Deployment web".
func (l Lineage) String() string {
	names := make([]string, len(l.Owners))
	for i, owner := range l.Owners {
		names[i] = describe(owner)
	}
	return strings.Join(names, " of ")
}

// Top is the last owner that is known, and whether there is any.
func (l Lineage) Top() (v1alpha1.ObjectReference, bool) {
	if len(l.Owners) == 0 {
		return v1alpha1.ObjectReference{}, false
	}
	return l.Owners[len(l.Owners)-1], true
}

func describe(owner v1alpha1.ObjectReference) string { return KindOf(owner) + " " + owner.Name }

// KindOf tells the kind of an object to people, a custom one with its group:
// "Deployment", "Database.example.com".
func KindOf(ref v1alpha1.ObjectReference) string {
	group, _, grouped := strings.Cut(ref.APIVersion, "/")
	if !grouped || !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") {
		return ref.Kind
	}
	return ref.Kind + "." + group
}
