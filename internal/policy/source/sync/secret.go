package sync

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
)

// secrets reads Secrets past the cache, one at a time and by name, so that the
// right to get those few is enough, and none is kept.
type secrets struct {
	reader client.Reader
	// account is the manager's own, for messages: <namespace>:<name>.
	account string
}

// read gives the values of a Secret that a field of a PolicySource names.
func (s secrets) read(ctx context.Context, namespace, name, field string) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	err := s.reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
	switch kube.Classify(err) {
	case kube.OK:
		if secret.Data == nil {
			return map[string][]byte{}, nil
		}
		return secret.Data, nil
	case kube.Gone:
		return nil, transient(v1alpha1.ReasonSecretUnavailable, "%s: there is no Secret %s in namespace %s: make it, or correct the name", field, name, namespace)
	case kube.Forbidden:
		return nil, transient(v1alpha1.ReasonSecretUnavailable,
			"%s: the manager may not read Secret %s of namespace %s. Let it: kubectl create role evenkeel-source-%s -n %s --verb=get --resource=secrets --resource-name=%s && "+
				"kubectl create rolebinding evenkeel-source-%s -n %s --role=evenkeel-source-%s --serviceaccount=%s",
			field, name, namespace, name, namespace, name, name, namespace, name, s.account)
	default:
		return nil, transient(v1alpha1.ReasonSecretUnavailable, "%s: read Secret %s: %v", field, name, err)
	}
}
