// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
)

// makeBreaker makes the breaker that is to be held open, where there is none yet: that
// of a namespace comes with its first failure, and must be there before to prevent one.
// What it is to cover must exist, for a slip of the pen would stop nothing.
func makeBreaker(ctx context.Context, c client.Client, name string) error {
	cb := &v1alpha1.RemediationBreaker{}
	if err := c.Get(ctx, client.ObjectKey{Name: name}, cb); !apierrors.IsNotFound(err) {
		return nil // it is there, or whoever reads it next says what is wrong
	}
	scope, covered, ok := breakerScope(name)
	if !ok {
		return command.Exit(command.ExitUsage,
			fmt.Errorf("there is no circuit breaker %s: give global, policy-NAME or namespace-NAME", name))
	}
	if covered != nil {
		if err := c.Get(ctx, client.ObjectKeyFromObject(covered), covered); err != nil {
			return connect.Failure(fmt.Sprintf("there is no circuit breaker %s, and what it would cover can't be read",
				name), err)
		}
	}
	cb.Name, cb.Spec.Scope = name, scope
	if err := c.Create(ctx, cb); client.IgnoreAlreadyExists(err) != nil {
		return connect.Failure("make circuit breaker "+name, err)
	}
	return nil
}

// breakerScope tells from its name what a breaker covers, and which object must be there
// for it; none for the global one.
func breakerScope(name string) (v1alpha1.BreakerScope, *metav1.PartialObjectMetadata, bool) {
	covered := &metav1.PartialObjectMetadata{}
	if policy, ok := strings.CutPrefix(name, v1alpha1.PolicyBreakerPrefix); ok && policy != "" {
		covered.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ClusterRegoPolicy"))
		covered.Name = policy
		return v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopePolicy, Policy: policy}, covered, true
	}
	if namespace, ok := strings.CutPrefix(name, v1alpha1.NamespaceBreakerPrefix); ok && namespace != "" {
		covered.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
		covered.Name = namespace
		return v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopeNamespace, Namespace: namespace}, covered, true
	}
	return v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopeGlobal}, nil, name == v1alpha1.GlobalBreakerName
}
