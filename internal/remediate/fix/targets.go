// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/remediate/action"
)

const (
	// firstBackoff doubles with each try that ends in a transient error.
	firstBackoff = time.Second
	// MaxBackoff is the longest wait between two tries.
	MaxBackoff = time.Minute
)

// Targets reads and writes the objects to fix. Reads never come from a cache.
// One is made for each reconcile: it remembers namespaces and owners, and nothing else.
type Targets struct {
	Reader client.Reader
	Writer objectWriter
	Mapper meta.RESTMapper
	Clock  clock.PassiveClock
	// Tools finds the tools that manage objects.
	Tools kube.Tools
	// Reach is what fixes may write.
	Reach limits.Reach
	// Annotate has each fix that is written name its plan at the object.
	Annotate bool

	mu         sync.Mutex
	namespaces map[string]*unstructured.Unstructured

	Owners OwnerMemo
}

// objectWriter is all that a write, its dry run and its undoing ask of the API server.
type objectWriter interface {
	Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error
	Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error
	Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error
	SubResource(subResource string) client.SubResourceClient
}

// Read reads an object anew from the API server.
func (t *Targets) Read(ctx context.Context, ref v1alpha1.ObjectReference) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
	err := t.Reader.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, obj)
	return obj, err
}

// NamespaceOf reads the Namespace that an object lives in; nil for a
// cluster-scoped object.
func (t *Targets) NamespaceOf(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if obj.GetNamespace() == "" {
		return nil, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if ns := t.namespaces[obj.GetNamespace()]; ns != nil {
		return ns, nil
	}
	ns := &unstructured.Unstructured{}
	ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := t.Reader.Get(ctx, client.ObjectKey{Name: obj.GetNamespace()}, ns); err != nil {
		return nil, err
	}
	if t.namespaces == nil {
		t.namespaces = map[string]*unstructured.Unstructured{}
	}
	t.namespaces[obj.GetNamespace()] = ns
	return ns, nil
}

// Audit asks for a verdict on an object, or on what it would be after a fix.
// namespace is the one that the object lives in, or nil.
func (t *Targets) Audit(object map[string]any, namespace *unstructured.Unstructured) *policy.Request {
	var ns map[string]any
	if namespace != nil {
		ns = namespace.Object
	}
	r := policy.NewAudit(object, ns, t.Clock.Now())
	gk := schema.GroupKind{Group: r.Kind.Group, Kind: r.Kind.Kind}
	if mapping, err := t.Mapper.RESTMapping(gk, r.Kind.Version); err == nil {
		r.Resource = mapping.Resource.Resource
	}
	return r
}

// Judge asks one policy about an object as it was read, with its namespace as that is now.
// It isn't matched when the policy doesn't concern the object; the error is that the
// namespace couldn't be read.
func (t *Targets) Judge(ctx context.Context, by Verdicts, policyName string, obj *unstructured.Unstructured) (
	result catalog.Result, matched bool, err error) {
	namespace, err := t.NamespaceOf(ctx, obj)
	if err != nil {
		return catalog.Result{}, false, err
	}
	result, matched = by.EvaluateOne(ctx, policyName, t.Audit(obj.Object, namespace))
	return result, matched, nil
}

// Patch sends a JSON Patch of the object, or of a subresource, and returns the
// object as the server answers it. Unknown fields are refused: a misspelt fix
// must not be dropped in silence.
func (t *Targets) Patch(ctx context.Context, obj *unstructured.Unstructured, subresource string, ops []policy.PatchOp,
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

// create sends a new object and returns it as the server answers it. Unknown
// fields are refused.
func (t *Targets) create(ctx context.Context, manifest *unstructured.Unstructured, opts ...client.CreateOption) (
	*unstructured.Unstructured, error) {
	out := manifest.DeepCopy()
	opts = append([]client.CreateOption{client.FieldOwner(v1alpha1.FieldManager), client.FieldValidation("Strict")},
		opts...)
	return out, failedTo("create", manifest, t.Writer.Create(ctx, out, opts...))
}

// remove deletes an object if it is as it was read; what depends on it is
// collected in the background.
func (t *Targets) remove(ctx context.Context, obj *unstructured.Unstructured, opts ...client.DeleteOption) error {
	opts = append([]client.DeleteOption{asRead(obj), client.PropagationPolicy(metav1.DeletePropagationBackground)},
		opts...)
	return failedTo("delete", obj, t.Writer.Delete(ctx, obj.DeepCopy(), opts...))
}

// evict evicts a Pod by the Eviction API if it is as it was read.
func (t *Targets) evict(ctx context.Context, pod *unstructured.Unstructured,
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

// Backoff is the wait before the next try.
func (t *Targets) Backoff(attempts int32) time.Duration {
	wait := firstBackoff
	for range attempts {
		if wait *= 2; wait >= MaxBackoff {
			return MaxBackoff
		}
	}
	return wait
}
