// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"context"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Asker says what somebody may do.
type Asker interface {
	// May says whether the request with these attributes would be allowed.
	May(ctx context.Context, attributes authorizationv1.ResourceAttributes) (bool, error)
}

// creator sends reviews to the API server; client.Client is one.
type creator interface {
	Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error
}

// Own asks what the client itself may do.
func Own(c creator) Asker { return self{c} }

type self struct{ client creator }

func (s self) May(ctx context.Context, attributes authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &attributes}}
	err := s.client.Create(ctx, review)
	return review.Status.Allowed, err
}

// Of asks what a ServiceAccount may do. The client needs the permission to create
// subjectaccessreviews.
func Of(c creator, account types.NamespacedName) Asker { return other{c, account} }

type other struct {
	client  creator
	account types.NamespacedName
}

func (o other) May(ctx context.Context, attributes authorizationv1.ResourceAttributes) (bool, error) {
	const accounts = "system:serviceaccounts"
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		ResourceAttributes: &attributes,
		User:               strings.Join([]string{"system:serviceaccount", o.account.Namespace, o.account.Name}, ":"),
		Groups:             []string{accounts, accounts + ":" + o.account.Namespace, "system:authenticated"},
	}}
	err := o.client.Create(ctx, review)
	return review.Status.Allowed, err
}
