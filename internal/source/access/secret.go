// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/internal/kube"
)

// ErrMissing says that a Secret isn't there, and not merely that it can't be read.
var ErrMissing = errors.New("there is no Secret")

// Secrets reads Secrets past the cache, one at a time and by name, so that the
// permission to get those few is enough, and none is kept.
type Secrets struct {
	// Reader asks the API server itself.
	Reader client.Reader
	// Account is the manager's own, for messages: <namespace>:<name>.
	Account string
}

// Read gives the values of a Secret that a field of a PolicySource names.
func (s Secrets) Read(ctx context.Context, namespace, name, field string) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	err := s.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
	switch kube.Classify(err) {
	case kube.OK:
		if secret.Data == nil {
			return map[string][]byte{}, nil
		}
		return secret.Data, nil
	case kube.Gone:
		return nil, fmt.Errorf("%s: %w %s in namespace %s: make it, or correct the name", field, ErrMissing, name,
			namespace)
	case kube.Forbidden:
		return nil, fmt.Errorf("%s: the manager may not read Secret %s of namespace %s. Let it: kubectl create role "+
			"evenkeel-source-%s -n %s --verb=get --resource=secrets --resource-name=%s && "+
			"kubectl create rolebinding evenkeel-source-%s -n %s --role=evenkeel-source-%s --serviceaccount=%s",
			field, name, namespace, name, namespace, name, name, namespace, name, s.Account)
	default:
		return nil, fmt.Errorf("%s: read Secret %s: %w", field, name, err)
	}
}
