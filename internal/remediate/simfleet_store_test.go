// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// simStore keeps the slices of a simulated plan as the API server does. It is
// the reader and the client of the controller's own book.
type simStore struct {
	client.Client // nil: nothing else may be asked
	slices        map[string]*v1alpha1.RemediationSlice
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
	s.slices[key.Name].DeepCopyInto(slice)
	return nil
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
	s.slices[slice.Name] = slice.DeepCopy()
	return s.stored()
}
