// SPDX-License-Identifier: Apache-2.0

package breakertest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Memory keeps breakers in memory, by name.
type Memory struct {
	Kept map[string]*v1alpha1.RemediationBreaker
	// made counts what was ever created: each has another UID.
	made int
	// Writes counts the writes of a status that changed it.
	Writes int
	// Unreadable makes every read of one fail.
	Unreadable bool
}

// MemoryOf keeps some breakers.
func MemoryOf(breakers ...*v1alpha1.RemediationBreaker) *Memory {
	m := &Memory{Kept: map[string]*v1alpha1.RemediationBreaker{}}
	for _, cb := range breakers {
		m.Kept[cb.Name] = m.born(cb)
	}
	return m
}

func (m *Memory) born(cb *v1alpha1.RemediationBreaker) *v1alpha1.RemediationBreaker {
	m.made++
	made := cb.DeepCopy()
	made.UID, made.ResourceVersion = types.UID(strconv.Itoa(m.made)), "1"
	return made
}

// Get reads a breaker.
func (m *Memory) Get(_ context.Context, name string) (*v1alpha1.RemediationBreaker, error) {
	switch cb := m.Kept[name]; {
	case m.Unreadable:
		return nil, errors.New("etcd is down")
	case cb == nil:
		return nil, apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("remediationbreakers").GroupResource(),
			name)
	default:
		return cb.DeepCopy(), nil
	}
}

// All are the breakers, by name.
func (m *Memory) All(context.Context) ([]v1alpha1.RemediationBreaker, error) {
	var all []v1alpha1.RemediationBreaker
	for _, name := range slices.Sorted(maps.Keys(m.Kept)) {
		all = append(all, *m.Kept[name].DeepCopy())
	}
	return all, nil
}

// Create keeps a new breaker.
func (m *Memory) Create(_ context.Context, cb *v1alpha1.RemediationBreaker) error {
	m.Kept[cb.Name] = m.born(cb)
	m.Kept[cb.Name].DeepCopyInto(cb)
	return nil
}

// WriteStatus keeps a status, or conflicts as the API server does.
func (m *Memory) WriteStatus(_ context.Context, _, cb *v1alpha1.RemediationBreaker) error {
	kept, err := m.unchanged(cb)
	if err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(kept.Status, cb.Status) {
		return nil // as kube.StatusWriter does
	}
	m.Writes++
	cb.Status.DeepCopyInto(&kept.Status)
	m.written(kept, cb)
	return nil
}

// Remove deletes a breaker, or conflicts as the API server does.
func (m *Memory) Remove(_ context.Context, cb *v1alpha1.RemediationBreaker) error {
	if _, err := m.unchanged(cb); err != nil {
		return err
	}
	delete(m.Kept, cb.Name)
	return nil
}

// WriteSpec is what a person does.
func (m *Memory) WriteSpec(cb *v1alpha1.RemediationBreaker) error {
	kept, err := m.unchanged(cb)
	if err != nil {
		return err
	}
	cb.Spec.DeepCopyInto(&kept.Spec)
	m.written(kept, cb)
	return nil
}

func (m *Memory) written(kept, cb *v1alpha1.RemediationBreaker) {
	kept.ResourceVersion += "1"
	cb.ResourceVersion = kept.ResourceVersion
}

// unchanged is what is kept of a breaker, or a conflict when it isn't what was read.
func (m *Memory) unchanged(cb *v1alpha1.RemediationBreaker) (*v1alpha1.RemediationBreaker, error) {
	kept := m.Kept[cb.Name]
	if kept == nil || kept.UID != cb.UID || kept.ResourceVersion != cb.ResourceVersion {
		return nil, apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("remediationbreakers").GroupResource(),
			cb.Name, errors.New("it was written since"))
	}
	return kept, nil
}
