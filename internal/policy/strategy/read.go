// SPDX-License-Identifier: Apache-2.0

package strategy

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Read reads a RemediationStrategy; nil when there is none of that name, or no name.
func Read(ctx context.Context, reader client.Reader, name string) (*v1alpha1.RemediationStrategy, error) {
	if name == "" {
		return nil, nil
	}
	s := &v1alpha1.RemediationStrategy{}
	err := reader.Get(ctx, types.NamespacedName{Name: name}, s)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read RemediationStrategy %s: %w", name, err)
	}
	return s, nil
}

// ReadPolicy reads a policy with the strategy that it follows; nil when it is gone. Where
// the strategy isn't known, its mode is Disabled.
func ReadPolicy(ctx context.Context, reader client.Reader, name string) (*v1alpha1.ClusterRegoPolicy, error) {
	p := &v1alpha1.ClusterRegoPolicy{}
	err := reader.Get(ctx, types.NamespacedName{Name: name}, p)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read policy %s: %w", name, err)
	}
	named, err := Read(ctx, reader, Named(p))
	if err != nil {
		return nil, err
	}
	Resolve(p, named)
	return p, nil
}

// Followers are the policies that refer to a strategy, for watches of strategies.
func Followers(reader client.Reader) func(context.Context, client.Object) []ctrl.Request {
	return func(ctx context.Context, s client.Object) []ctrl.Request {
		list := &v1alpha1.ClusterRegoPolicyList{}
		if err := reader.List(ctx, list); err != nil {
			return nil
		}
		var requests []ctrl.Request
		for i := range list.Items {
			if Named(&list.Items[i]) == s.GetName() {
				requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
			}
		}
		return requests
	}
}
