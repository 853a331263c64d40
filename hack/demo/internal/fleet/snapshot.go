// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Snapshot is the fleet at one moment.
type Snapshot struct {
	Items           map[types.NamespacedName]*appsv1.Deployment
	resourceVersion string
}

// Take reads the fleet from the API server.
func Take(ctx context.Context, c client.Reader) (Snapshot, error) {
	var list appsv1.DeploymentList
	if err := c.List(ctx, &list); err != nil {
		return Snapshot{}, fmt.Errorf("list the Deployments: %w", err)
	}
	s := Snapshot{Items: map[types.NamespacedName]*appsv1.Deployment{}, resourceVersion: list.ResourceVersion}
	for i := range list.Items {
		if d := &list.Items[i]; slices.Contains(Namespaces(), d.Namespace) {
			s.Items[client.ObjectKeyFromObject(d)] = d
		}
	}
	return s, nil
}

// Where are the names of the Deployments for which is holds, sorted.
func (s Snapshot) Where(is func(*appsv1.Deployment) bool) []types.NamespacedName {
	var keys []types.NamespacedName
	for key, d := range s.Items {
		if is(d) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b types.NamespacedName) int { return cmp.Compare(a.String(), b.String()) })
	return keys
}

// Count is the number of Deployments for which is holds.
func (s Snapshot) Count(is func(*appsv1.Deployment) bool) int { return len(s.Where(is)) }

// Not turns a condition round.
func Not(is func(*appsv1.Deployment) bool) func(*appsv1.Deployment) bool {
	return func(d *appsv1.Deployment) bool { return !is(d) }
}
