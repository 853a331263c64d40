// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"fmt"
	"reflect"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// simStore keeps the slices of a simulated plan as the API server does. It is
// the reader and the client of the controller's own book.
type simStore struct {
	client.Client // nil: nothing else may be asked
	slices        map[string]*v1alpha1.RemediationSlice
	// asStored are copies that nobody else has: what is lent may not be changed.
	asStored map[string]*v1alpha1.RemediationSlice
	// stored is called after each slice is stored; it errs when nobody hears the answer.
	stored func() error
	// reached errs when nothing is stored any more.
	reached func() error
}

func (s *simStore) Get(_ context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	slice, ok := out.(*v1alpha1.RemediationSlice)
	if !ok || s.slices[key.Name] == nil {
		return fmt.Errorf("the simulation holds no %T %s", out, key.Name)
	}
	*slice = *s.slices[key.Name] // lent, as the cache of the records lends
	return nil
}

// keep stores a slice.
func (s *simStore) keep(slice *v1alpha1.RemediationSlice) {
	s.slices[slice.Name], s.asStored[slice.Name] = slice.DeepCopy(), slice.DeepCopy()
}

// intact errs for a slice that was changed without being stored: a crash wouldn't undo
// that here, as it does in truth.
func (s *simStore) intact(name string) error {
	if reflect.DeepEqual(s.asStored[name], s.slices[name]) {
		return nil
	}
	return fmt.Errorf("slice %s was changed where it is kept (-stored +changed):\n%s", name,
		gocmp.Diff(s.asStored[name], s.slices[name]))
}

func (s *simStore) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return fmt.Errorf("the simulation lists nothing")
}

// Update stores a slice, and nothing else.
func (s *simStore) Update(_ context.Context, obj client.Object, _ ...client.UpdateOption) error {
	slice, ok := obj.(*v1alpha1.RemediationSlice)
	if !ok {
		return fmt.Errorf("the simulation stores no %T", obj)
	}
	if err := s.reached(); err != nil {
		return err
	}
	if err := s.intact(slice.Name); err != nil {
		return err
	}
	s.keep(slice)
	return s.stored()
}
