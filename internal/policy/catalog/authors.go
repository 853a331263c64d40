package catalog

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/authors"
)

// WithAuthors is a policy with the authors of its template among its own (see
// authors.WithTemplate), and that template as the reader has it; nil where there is none.
func WithAuthors(ctx context.Context, reader client.Reader, pol *v1alpha1.ClusterRegoPolicy) (*v1alpha1.ClusterRegoPolicy, *v1alpha1.RegoTemplate, error) {
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
