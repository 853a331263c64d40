// SPDX-License-Identifier: Apache-2.0

package fixtest

import (
	"context"
	"encoding/json"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Patch answers a dry run with the patched object, and a test that
// fails with the API server's words; the simulated server does neither.
func Patch(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch,
	opts ...client.PatchOption) error {
	options := (&client.PatchOptions{}).ApplyOptions(opts)
	if len(options.DryRun) == 0 {
		err := c.Patch(ctx, obj, patch, opts...)
		if err != nil && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
			return apierrors.NewGenericServerResponse(422, "patch", schema.GroupResource{}, obj.GetName(), err.Error(),
				0, false)
		}
		return err
	}
	raw, err := patch.Data(obj)
	if err != nil {
		return err
	}
	ops, err := jsonpatch.DecodePatch(raw)
	if err != nil {
		return err
	}
	doc, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	if doc, err = ops.Apply(doc); err != nil {
		return err
	}
	return json.Unmarshal(doc, obj)
}
