// SPDX-License-Identifier: Apache-2.0

package seal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

const (
	// SecretName is the Secret of the key, in the manager's own namespace.
	SecretName = "evenkeel-record-key"
	// keyField is the key in it.
	keyField = "key"
	keyBytes = 32
	// adoptedAnnotation says of a key that was just made whether all that was there before
	// it is sealed. A Secret that somebody restores may lack it, and takes nothing over.
	// On: the Secret evenkeel-record-key. By: the manager.
	adoptedAnnotation = "evenkeel.dev/adopted"
	notYet, adopted   = "false", "true"
)

// Keeper keeps the key in a Secret. It makes one when there is none and nothing is
// sealed yet; then it also seals what an earlier version has left. Where something
// is sealed and the key is gone, it gives none: nobody could tell what is forged.
type Keeper struct {
	// Reader reads past every cache.
	Reader client.Reader
	Writer client.Client
	// Namespace is the manager's own.
	Namespace string

	mu  sync.Mutex
	key Key
}

// Key is the key, from memory once it was read.
func (k *Keeper) Key(ctx context.Context) (Key, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key != nil {
		return k.key, nil
	}
	secret := &corev1.Secret{}
	err := k.Reader.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: SecretName}, secret)
	if apierrors.IsNotFound(err) {
		secret, err = k.make(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("the key of the records, in Secret %s/%s: %w", k.Namespace, SecretName, err)
	}
	key, err := keyIn(secret)
	if err != nil {
		return nil, err
	}
	if err := k.adopt(ctx, key, secret); err != nil {
		return nil, err
	}
	k.key = key
	return key, nil
}

// make makes a key, unless one was there before.
func (k *Keeper) make(ctx context.Context) (*corev1.Secret, error) {
	plans := &v1alpha1.RemediationList{}
	if err := k.Reader.List(ctx, plans); err != nil {
		return nil, err
	}
	for _, plan := range plans.Items {
		if plan.Annotations[v1alpha1.AnnotationSeal] != "" {
			return nil, fmt.Errorf(
				"it is gone, and plan %s is sealed with it, so that no record can be distinguished from a forged one: "+
					"restore the Secret, or check what the plans have written and delete them all (kubectl delete "+
					"remediations --all); a new key is made then: %w", plan.Name, ErrUnproven)
		}
	}
	key := make([]byte, keyBytes)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: k.Namespace, Name: SecretName, Annotations: map[string]string{adoptedAnnotation: notYet}},
		Data: map[string][]byte{keyField: key}}
	return secret, k.Writer.Create(ctx, secret, client.FieldOwner(v1alpha1.FieldManager))
}

// adopt seals what was there before the key, once: plans that an earlier version
// has made. What is younger than the key was never without a seal, and neither was
// anything where the key isn't one that was just made.
func (k *Keeper) adopt(ctx context.Context, key Key, secret *corev1.Secret) error {
	if secret.Annotations[adoptedAnnotation] != notYet {
		return nil
	}
	plans, slices := &v1alpha1.RemediationList{}, &v1alpha1.RemediationSliceList{}
	for _, list := range []client.ObjectList{plans, slices} {
		if err := k.Reader.List(ctx, list); err != nil {
			return fmt.Errorf("seal the plans that were there before: %w", err)
		}
	}
	var all []client.Object
	for i := range plans.Items {
		all = append(all, &plans.Items[i])
	}
	for i := range slices.Items {
		all = append(all, &slices.Items[i])
	}
	for _, obj := range all {
		created := obj.GetCreationTimestamp()
		if obj.GetAnnotations()[v1alpha1.AnnotationSeal] != "" || secret.CreationTimestamp.Before(&created) {
			continue
		}
		err := k.take(ctx, key, obj)
		if errors.Is(err, ErrUnproven) {
			continue // what is recorded of no plan isn't taken over
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("seal %s, which was there before: %w", obj.GetName(), err)
		}
	}
	before := secret.DeepCopy()
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, adoptedAnnotation, adopted)
	return k.Writer.Patch(ctx, secret, client.MergeFrom(before), client.FieldOwner(v1alpha1.FieldManager))
}

// take seals one object: what is recorded first, so that a crash in between leaves
// it for the next try.
func (k *Keeper) take(ctx context.Context, key Key, obj client.Object) error {
	if s, _ := partsOf(obj); s.status != nil {
		if err := record(key, obj); err != nil {
			return err
		}
		if err := k.write(ctx, obj); err != nil {
			return err
		}
	}
	before := obj.DeepCopyObject().(client.Object)
	if err := annotate(key, obj, obj); err != nil {
		return err
	}
	return k.Writer.Patch(ctx, obj, client.MergeFrom(before), client.FieldOwner(v1alpha1.FieldManager))
}

// write stores what is recorded where its kind has it.
func (k *Keeper) write(ctx context.Context, obj client.Object) error {
	if _, isSlice := obj.(*v1alpha1.RemediationSlice); isSlice {
		return k.Writer.Update(ctx, obj, client.FieldOwner(v1alpha1.FieldManager))
	}
	return k.Writer.Status().Update(ctx, obj, client.FieldOwner(v1alpha1.FieldManager))
}
