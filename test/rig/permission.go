// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// AwaitPermission waits until the API server's authorizer has heard that a user has the permissions of a
// rule, in a namespace or everywhere, which it does a moment after the role and its binding are written.
func (r *Rig) AwaitPermission(ctx context.Context, user string, rule rbacv1.PolicyRule, namespace ...string) {
	GinkgoHelper()
	resource, subresource, _ := strings.Cut(rule.Resources[0], "/")
	asked := authorizationv1.ResourceAttributes{Group: rule.APIGroups[0], Resource: resource,
		Subresource: subresource, Verb: rule.Verbs[0], Namespace: strings.Join(namespace, "")}
	if len(rule.ResourceNames) > 0 {
		asked.Name = rule.ResourceNames[0]
	}
	Eventually(ctx, func(g Gomega) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, Groups: []string{"system:authenticated"}, ResourceAttributes: &asked}}
		g.Expect(r.API.Create(ctx, review)).To(Succeed())
		g.Expect(review.Status.Allowed).To(BeTrue())
	}).Should(Succeed())
}
