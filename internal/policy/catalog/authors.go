// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/authors"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/policy/strategy"
)

// WithAuthors is a policy with the authors of its template among its own (see
// authors.WithTemplate), and that template as the reader has it; nil where there is none.
func WithAuthors(ctx context.Context, reader client.Reader, pol *v1alpha1.ClusterRegoPolicy) (
	*v1alpha1.ClusterRegoPolicy, *v1alpha1.RegoTemplate, error) {
	if pol.Spec.TemplateRef == nil {
		return pol, nil, nil
	}
	t := &v1alpha1.RegoTemplate{}
	err := reader.Get(ctx, client.ObjectKey{Name: pol.Spec.TemplateRef.Name}, t)
	if apierrors.IsNotFound(err) {
		return authors.WithTemplate(pol, nil), nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read RegoTemplate %s: %w", pol.Spec.TemplateRef.Name, err)
	}
	return authors.WithTemplate(pol, t), t, nil
}

// Asked reads what a plan was made by, as it is now: the policy, with its template's authors
// among its own, what its strategy asks of approvers, and the plan's own strategy.
func Asked(ctx context.Context, reader client.Reader, plan *v1alpha1.Remediation) (of canary.Asked, err error) {
	var follows v1alpha1.RemediationStrategySpec
	if of.Policy, follows, err = strategy.ReadPolicy(ctx, reader, plan.Spec.Plan.Policy.Name); err != nil {
		return of, err
	}
	of.Distinct = follows.Approval.RequireDistinctApprover
	if of.Policy != nil {
		if of.Policy, _, err = WithAuthors(ctx, reader, of.Policy); err != nil {
			return of, err
		}
	}
	if made := plan.Spec.Plan.StrategyRef; made != nil {
		of.Strategy, err = strategy.Read(ctx, reader, made.Name)
	}
	return of, err
}
