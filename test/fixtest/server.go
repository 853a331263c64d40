// SPDX-License-Identifier: Apache-2.0

package fixtest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// maxLists is more than any test lists.
const maxLists = 20

// NewServer is an API server with some objects, the ConfigMap shop/web whose data.state is
// "bad", and the Namespace shop. It lets its client do everything.
func NewServer(objects ...client.Object) client.WithWatch {
	web := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1"},
		Data: map[string]string{"state": "bad"}}
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	return fake.NewClientBuilder().WithObjects(append(objects, web, shop)...).
		WithInterceptorFuncs(interceptor.Funcs{Patch: Patch, Create: create, List: list(),
			SubResourceCreate: evict}).Build()
}

// list bounds how often anything is listed: whoever asks for pages without end is told.
func list() func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
	var lists atomic.Int32
	return func(ctx context.Context, c client.WithWatch, out client.ObjectList, opts ...client.ListOption) error {
		if lists.Add(1) > maxLists {
			return fmt.Errorf("this is list number %d", maxLists+1)
		}
		return c.List(ctx, out, opts...)
	}
}

// Web refers to the ConfigMap of NewServer.
func Web() v1alpha1.ObjectReference {
	return v1alpha1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "web", UID: "u1"}
}

// Mapper knows the kinds ConfigMap and Namespace.
func Mapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	return mapper
}

// evict answers an eviction, which the simulated server reads in its own type only.
func evict(ctx context.Context, c client.Client, subresource string, pod, asked client.Object,
	opts ...client.SubResourceCreateOption) error {
	if len((&client.SubResourceCreateOptions{}).ApplyOptions(opts).DryRun) > 0 {
		return nil
	}
	eviction := &policyv1.Eviction{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(asked.(*unstructured.Unstructured).Object,
		eviction); err != nil {
		return err
	}
	return c.SubResource(subresource).Create(ctx, pod, eviction, opts...)
}

// create answers who asks what it may do: everything. A dry run finds what is there, as the
// real server's does.
func create(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
	if review, asks := obj.(*authorizationv1.SelfSubjectAccessReview); asks {
		review.Status.Allowed = true
		return nil
	}
	if len((&client.CreateOptions{}).ApplyOptions(opts).DryRun) > 0 {
		if err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj.DeepCopyObject().(client.Object)); err == nil {
			return apierrors.NewAlreadyExists(schema.GroupResource{}, obj.GetName())
		}
	}
	return c.Create(ctx, obj, opts...)
}

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
