// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/policy"
)

// Patch sends a JSON Patch of the object, or of a subresource, and returns the
// object as the server answers it. Unknown fields are refused: a misspelt fix
// must not be dropped in silence.
func (t *Client) Patch(ctx context.Context, obj *unstructured.Unstructured, subresource string, ops []policy.PatchOp,
	opts ...client.PatchOption) (*unstructured.Unstructured, error) {
	raw, err := action.Encode(ops)
	if err != nil {
		return nil, err
	}
	var options client.PatchOptions
	options.ApplyOptions([]client.PatchOption{
		client.FieldOwner(v1alpha1.FieldManager), client.FieldValidation("Strict")})
	options.ApplyOptions(opts)
	out, patch := obj.DeepCopy(), client.RawPatch(types.JSONPatchType, raw)
	if subresource == "" {
		err = t.Writer.Patch(ctx, out, patch, &options)
	} else {
		err = t.Writer.SubResource(subresource).Patch(
			ctx, out, patch, &client.SubResourcePatchOptions{PatchOptions: options})
	}
	return out, failedTo("patch", obj, err)
}

// Create sends a new object and returns it as the server answers it. Unknown
// fields are refused.
func (t *Client) Create(ctx context.Context, manifest *unstructured.Unstructured, opts ...client.CreateOption) (
	*unstructured.Unstructured, error) {
	out := manifest.DeepCopy()
	opts = append([]client.CreateOption{client.FieldOwner(v1alpha1.FieldManager), client.FieldValidation("Strict")},
		opts...)
	return out, failedTo("create", manifest, t.Writer.Create(ctx, out, opts...))
}

// Remove deletes an object if it is as it was read; what depends on it is
// collected in the background.
func (t *Client) Remove(ctx context.Context, obj *unstructured.Unstructured, opts ...client.DeleteOption) error {
	opts = append([]client.DeleteOption{asRead(obj), client.PropagationPolicy(metav1.DeletePropagationBackground)},
		opts...)
	return failedTo("delete", obj, t.Writer.Delete(ctx, obj.DeepCopy(), opts...))
}

// Evict evicts a Pod by the Eviction API if it is as it was read.
func (t *Client) Evict(ctx context.Context, pod *unstructured.Unstructured,
	opts ...client.SubResourceCreateOption) error {
	request := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": pod.GetName(), "namespace": pod.GetNamespace()},
		"deleteOptions": map[string]any{"preconditions": map[string]any{
			"uid": string(pod.GetUID()), "resourceVersion": pod.GetResourceVersion()}},
	}}
	request.SetGroupVersionKind(policyv1.SchemeGroupVersion.WithKind("Eviction"))
	return failedTo("evict", pod, t.Writer.SubResource("eviction").Create(ctx, pod.DeepCopy(), request, opts...))
}

func asRead(obj *unstructured.Unstructured) client.Preconditions {
	uid, version := obj.GetUID(), obj.GetResourceVersion()
	return client.Preconditions{UID: &uid, ResourceVersion: &version}
}

func failedTo(verb string, obj *unstructured.Unstructured, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", verb, v1alpha1.ObjectReference{
		Kind: obj.GetKind(), Namespace: obj.GetNamespace(), Name: obj.GetName()}.String(), err)
}
