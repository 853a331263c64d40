// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// DefaultPage is the number of objects that are read at a time.
const DefaultPage = 500

// lister lists one resource.
type lister interface {
	List(ctx context.Context, opts metav1.ListOptions) (*unstructured.UnstructuredList, error)
}

// eachPage reads a resource page by page until visit wants no more. A list that takes
// so long that the API server forgets its beginning is gone on with from the state
// of now, as the server offers.
func eachPage(ctx context.Context, r lister, opts metav1.ListOptions, visit func(*unstructured.UnstructuredList) bool) (
	more bool, err error) {
	for {
		list, err := r.List(ctx, opts)
		var status apierrors.APIStatus
		if apierrors.IsResourceExpired(err) && errors.As(err, &status) && status.Status().Continue != "" &&
			status.Status().Continue != opts.Continue {
			opts.Continue = status.Status().Continue
			continue
		}
		if err != nil {
			return true, err
		}
		if !visit(list) {
			return false, nil
		}
		if opts.Continue = list.GetContinue(); opts.Continue == "" {
			return true, nil
		}
	}
}
