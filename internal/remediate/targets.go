package remediate

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/action"
)

const (
	// firstBackoff doubles with each try that ends in a transient error.
	firstBackoff = time.Second
	// maxBackoff is the longest wait between two tries.
	maxBackoff = time.Minute
	// conflictBackoff is the wait after somebody else wrote first.
	conflictBackoff = 200 * time.Millisecond
)

// targets reads and writes the objects to mend. Reads never come from a cache.
// One is made for each reconcile: it remembers namespaces, and nothing else.
type targets struct {
	reader client.Reader
	writer client.Client
	mapper meta.RESTMapper
	clock  clock.PassiveClock

	mu         sync.Mutex
	namespaces map[string]*unstructured.Unstructured
}

// read reads an object anew from the API server.
func (t *targets) read(ctx context.Context, ref v1alpha1.ObjectReference) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
	err := t.reader.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, obj)
	return obj, err
}

// namespaceOf reads the Namespace that an object lives in; nil for a
// cluster-scoped object.
func (t *targets) namespaceOf(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
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
	if err := t.reader.Get(ctx, client.ObjectKey{Name: obj.GetNamespace()}, ns); err != nil {
		return nil, err
	}
	if t.namespaces == nil {
		t.namespaces = map[string]*unstructured.Unstructured{}
	}
	t.namespaces[obj.GetNamespace()] = ns
	return ns, nil
}

// audit asks for a verdict on an object, or on what it would be after a fix.
// namespace is the one that the object lives in, or nil.
func (t *targets) audit(object map[string]any, namespace *unstructured.Unstructured) *policy.Request {
	var ns map[string]any
	if namespace != nil {
		ns = namespace.Object
	}
	r := policy.NewAudit(object, ns, t.clock.Now())
	gk := schema.GroupKind{Group: r.Kind.Group, Kind: r.Kind.Kind}
	if mapping, err := t.mapper.RESTMapping(gk, r.Kind.Version); err == nil {
		r.Resource = mapping.Resource.Resource
	}
	return r
}

// patch sends a JSON Patch and returns the object as the server answers it.
// Unknown fields are refused: a misspelt fix must not be dropped in silence.
func (t *targets) patch(ctx context.Context, obj *unstructured.Unstructured, ops []policy.PatchOp, opts ...client.PatchOption) (*unstructured.Unstructured, error) {
	raw, err := action.Encode(ops)
	if err != nil {
		return nil, err
	}
	opts = append([]client.PatchOption{client.FieldOwner(v1alpha1.FieldManager), client.FieldValidation("Strict")}, opts...)
	out := obj.DeepCopy()
	if err := t.writer.Patch(ctx, out, client.RawPatch(types.JSONPatchType, raw), opts...); err != nil {
		return nil, fmt.Errorf("patch %s: %w", name(v1alpha1.ObjectReference{
			Kind: obj.GetKind(), Namespace: obj.GetNamespace(), Name: obj.GetName()}), err)
	}
	return out, nil
}

// backoff is the wait before the next try.
func (t *targets) backoff(attempts int32) time.Duration {
	wait := firstBackoff
	for range attempts {
		if wait *= 2; wait >= maxBackoff {
			return maxBackoff
		}
	}
	return wait
}
