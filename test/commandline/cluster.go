// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Cluster is one in memory with an object. What is answered to each patch is given to patched before, which may take out
// what older definitions of the object's kind would have dropped.
func Cluster(t *testing.T, object client.Object, patched func(client.Object)) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(object).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch,
			opts ...client.PatchOption) error {
			err := c.Patch(ctx, obj, patch, opts...)
			patched(obj)
			return err
		}}).Build()
}
