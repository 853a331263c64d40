// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

// addCluster adds what is in force in the cluster, with its namespaces: all of it, for a verdict by a part of it
// would be another one.
func (s *policySet) addCluster(ctx context.Context, flags *connect.Flags) error {
	c, err := flags.Client()
	if err != nil {
		return err
	}
	refused, err := s.addInForce(ctx, c)
	if err != nil {
		return err
	}
	if len(refused) > 0 {
		return refused[0]
	}
	namespaces := &unstructured.UnstructuredList{}
	namespaces.SetAPIVersion("v1")
	namespaces.SetKind("NamespaceList")
	if err := c.List(ctx, namespaces); err != nil {
		return connect.Failure("list namespaces", err)
	}
	s.namespaces = map[string]map[string]any{}
	for i := range namespaces.Items {
		s.namespaces[namespaces.Items[i].GetName()] = namespaces.Items[i].Object
	}
	return nil
}

// addInForce adds what is in force in the cluster as far as it may be read, and gives what was refused.
func (s *policySet) addInForce(ctx context.Context, c client.Client) (refused []error, err error) {
	policies := &v1alpha1.ClusterRegoPolicyList{}
	templates := &v1alpha1.RegoTemplateList{}
	strategies := &v1alpha1.RemediationStrategyList{}
	var waivers []v1alpha1.AnyWaiver
	for _, part := range []struct {
		what string
		read func() error
	}{
		{"list policies", func() error { return c.List(ctx, policies) }},
		{"list templates", func() error { return c.List(ctx, templates) }},
		{"list the strategies that policies share", func() error { return c.List(ctx, strategies) }},
		{"read what is waived", func() (err error) {
			waivers, err = catalog.ListWaivers(ctx, c)
			return err
		}},
	} {
		switch err := part.read(); {
		case apierrors.IsForbidden(err):
			refused = append(refused, connect.Failure(part.what, err))
		case err != nil:
			return nil, connect.Failure(part.what, err)
		}
	}
	for i := range policies.Items {
		s.add(&policies.Items[i])
	}
	for i := range templates.Items {
		s.templates = append(s.templates, &templates.Items[i])
	}
	for i := range strategies.Items {
		s.strategies = append(s.strategies, &strategies.Items[i])
	}
	s.waivers = append(s.waivers, waivers...)
	return refused, nil
}
