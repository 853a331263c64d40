// SPDX-License-Identifier: Apache-2.0

package seal

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Keys gives the key. It errs while there is none to be trusted.
type Keys interface {
	Key(context.Context) (Key, error)
}

// NewReader is a reader that errs with ErrUnproven for a plan or a slice that isn't
// the manager's, and leaves those out of lists.
func NewReader(inner client.Reader, keys Keys) client.Reader { return reader{inner, keys} }

type reader struct {
	client.Reader
	keys Keys
}

// Get reads an object and checks its seals. The object is filled in also when they
// don't hold.
func (r reader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if _, ok := partsOf(obj); !ok {
		return r.Reader.Get(ctx, key, obj, opts...)
	}
	// The key first: with a new one comes a seal on what was there before it.
	mark, noKey := r.keys.Key(ctx)
	if err := r.Reader.Get(ctx, key, obj, opts...); err != nil {
		return err
	}
	if noKey != nil {
		return noKey
	}
	return mark.verify(obj)
}

// List leaves out what isn't proven: it counts for nothing.
func (r reader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	plans, ok := list.(*v1alpha1.RemediationList)
	if !ok {
		return r.Reader.List(ctx, list, opts...)
	}
	mark, err := r.keys.Key(ctx)
	if err != nil {
		return err
	}
	if err := r.Reader.List(ctx, plans, opts...); err != nil {
		return err
	}
	proven := plans.Items[:0]
	for i := range plans.Items {
		switch err := mark.verify(&plans.Items[i]); {
		case err == nil:
			proven = append(proven, plans.Items[i])
		case !errors.Is(err, ErrUnproven):
			return err
		}
	}
	plans.Items = proven
	return nil
}

// Doubt finds the first plan that isn't proven, and says why; nil when all are.
// An error that isn't ErrUnproven means that they couldn't be read.
func Doubt(ctx context.Context, inner client.Reader, keys Keys, opts ...client.ListOption) error {
	mark, err := keys.Key(ctx)
	if err != nil {
		return err
	}
	plans := &v1alpha1.RemediationList{}
	if err := inner.List(ctx, plans, opts...); err != nil {
		return err
	}
	for i := range plans.Items {
		if err := mark.verify(&plans.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// NewClient is a client that seals what it writes of plans and slices.
func NewClient(inner client.Client, keys Keys) client.Client { return writer{inner, keys} }

type writer struct {
	client.Client
	keys Keys
}

// Create seals a new plan or slice as the API server will store it, with the
// defaults that it fills in: a dry run tells.
func (w writer) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if _, ok := partsOf(obj); !ok {
		return w.Client.Create(ctx, obj, opts...)
	}
	key, err := w.keys.Key(ctx)
	if err != nil {
		return err
	}
	stored := obj.DeepCopyObject().(client.Object)
	if err := w.Client.Create(ctx, stored, append([]client.CreateOption{client.DryRunAll}, opts...)...); err != nil {
		return err
	}
	if err := annotate(key, stored, obj); err != nil {
		return err
	}
	return w.Client.Create(ctx, obj, opts...)
}

// annotate puts the seal of one object's plan on another.
func annotate(key Key, stored, on client.Object) error {
	s, _ := partsOf(stored)
	mark, err := key.ofPlan(s)
	if err != nil {
		return err
	}
	annotations := maps.Clone(on.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.AnnotationSeal] = mark
	on.SetAnnotations(annotations)
	return nil
}

// Update seals the records of a slice, which has no status of its own.
func (w writer) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	slice, ok := obj.(*v1alpha1.RemediationSlice)
	if !ok {
		return w.Client.Update(ctx, obj, opts...)
	}
	return next(ctx, w.keys, slice, func() error { return w.Client.Update(ctx, slice, opts...) })
}

// Status seals what is recorded.
func (w writer) Status() client.SubResourceWriter {
	return statusWriter{w.Client.Status(), w.keys}
}

type statusWriter struct {
	client.SubResourceWriter
	keys Keys
}

// Update seals the status of a plan.
func (w statusWriter) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	plan, ok := obj.(*v1alpha1.Remediation)
	if !ok {
		return w.SubResourceWriter.Update(ctx, obj, opts...)
	}
	return next(ctx, w.keys, plan, func() error { return w.SubResourceWriter.Update(ctx, plan, opts...) })
}

// next seals what is recorded in a plan or a slice as the next of its sequence, and
// writes it. The object holds the sequence that it had when that fails.
func next(ctx context.Context, keys Keys, obj client.Object, write func() error) error {
	key, err := keys.Key(ctx)
	if err != nil {
		return err
	}
	before := *sequenceOf(obj)
	*sequenceOf(obj)++
	if err = record(key, obj); err == nil {
		err = write()
	}
	if err != nil {
		*sequenceOf(obj) = before
	}
	return err
}

// sequenceOf is where an object counts what was recorded in it; nil for a kind that isn't sealed.
func sequenceOf(obj client.Object) *int64 {
	switch o := obj.(type) {
	case *v1alpha1.Remediation:
		return &o.Status.Sequence
	case *v1alpha1.RemediationSlice:
		return &o.Sequence
	}
	return nil
}

// record puts the seal of what is recorded in an object into it.
func record(key Key, obj client.Object) error {
	s, _ := partsOf(obj)
	mark, err := key.ofStatus(s)
	if err != nil {
		return fmt.Errorf("seal %s %s: %w", s.kind, s.name, err)
	}
	switch o := obj.(type) {
	case *v1alpha1.Remediation:
		o.Status.Seal = mark
	case *v1alpha1.RemediationSlice:
		o.Seal = mark
	}
	return nil
}
