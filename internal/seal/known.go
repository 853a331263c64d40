// SPDX-License-Identifier: Apache-2.0

package seal

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Known gives the key that is there, read anew each time, and never makes one: for
// whoever checks seals and makes none.
type Known struct {
	// Reader reads past every cache.
	Reader client.Reader
	// Namespace is the manager's own.
	Namespace string
}

// Key is the key.
func (k Known) Key(ctx context.Context) (Key, error) {
	secret := &corev1.Secret{}
	if err := k.Reader.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: SecretName}, secret); err != nil {
		return nil, fmt.Errorf("the key of the records, in Secret %s/%s: %w", k.Namespace, SecretName, err)
	}
	return keyIn(secret)
}

func keyIn(secret *corev1.Secret) (Key, error) {
	key := Key(secret.Data[keyField])
	if len(key) < keyBytes {
		return nil, fmt.Errorf("the key of the records, in Secret %s/%s, has %d bytes, not %d: restore the Secret",
			secret.Namespace, secret.Name, len(key), keyBytes)
	}
	return key, nil
}
