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

// Read reads a RemediationStrategy; nil when there is none of that name.
func Read(ctx context.Context, reader client.Reader, name string) (*v1alpha1.RemediationStrategy, error) {
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

// ReadPolicy reads a policy and the strategy that it follows; nil when it is gone. Where
// the strategy isn't known, its mode is Disabled.
func ReadPolicy(ctx context.Context, reader client.Reader, name string) (*v1alpha1.ClusterRegoPolicy,
	v1alpha1.RemediationStrategySpec, error) {
	p, s := &v1alpha1.ClusterRegoPolicy{}, v1alpha1.RemediationStrategySpec{}
	err := reader.Get(ctx, types.NamespacedName{Name: name}, p)
	if apierrors.IsNotFound(err) {
		return nil, s, nil
	}
	if err != nil {
		return nil, s, fmt.Errorf("read policy %s: %w", name, err)
	}
	named, err := Read(ctx, reader, Named(p))
	if err != nil {
		return nil, s, err
	}
	s, _ = Resolve(p, named)
	return p, s, nil
}

// Followers are the policies that follow a strategy, for watches of strategies.
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
