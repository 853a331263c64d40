// SPDX-License-Identifier: Apache-2.0

package breakertest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Memory is a client that keeps breakers in memory, by name. It is much faster than controller-runtime's
// fake client, which matters to the models that ask the breakers thousands of times.
type Memory struct {
	client.WithWatch
	Kept map[string]*v1alpha1.RemediationBreaker
	// Namespaces are those that are there.
	Namespaces map[string]bool
	// made counts what was ever created: each has another UID.
	made int
	// Writes counts the writes of a status.
	Writes int
	// Unreadable makes every read of one fail.
	Unreadable bool
}

// MemoryOf keeps some breakers.
func MemoryOf(breakers ...*v1alpha1.RemediationBreaker) *Memory {
	m := &Memory{Kept: map[string]*v1alpha1.RemediationBreaker{}, Namespaces: map[string]bool{}}
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

func breakers() schema.GroupResource {
	return v1alpha1.GroupVersion.WithResource("remediationbreakers").GroupResource()
}

// Get reads a breaker, or the metadata of a namespace.
func (m *Memory) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	into, isBreaker := obj.(*v1alpha1.RemediationBreaker)
	switch cb := m.Kept[key.Name]; {
	case !isBreaker && m.Namespaces[key.Name]:
		return nil
	case !isBreaker:
		return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, key.Name)
	case m.Unreadable:
		return errors.New("etcd is down")
	case cb == nil:
		return apierrors.NewNotFound(breakers(), key.Name)
	default:
		cb.DeepCopyInto(into)
		return nil
	}
}

// List lists the breakers, by name.
func (m *Memory) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	all := list.(*v1alpha1.RemediationBreakerList)
	for _, name := range slices.Sorted(maps.Keys(m.Kept)) {
		all.Items = append(all.Items, *m.Kept[name].DeepCopy())
	}
	return nil
}

// Create keeps a new breaker.
func (m *Memory) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	cb := obj.(*v1alpha1.RemediationBreaker)
	m.Kept[cb.Name] = m.born(cb)
	m.Kept[cb.Name].DeepCopyInto(cb)
	return nil
}

// Delete deletes a breaker, or conflicts as the API server does with the preconditions of the manager.
func (m *Memory) Delete(_ context.Context, obj client.Object, _ ...client.DeleteOption) error {
	if _, err := m.unchanged(obj); err != nil {
		return err
	}
	delete(m.Kept, obj.GetName())
	return nil
}

// Update writes a spec, which is what a person does.
func (m *Memory) Update(_ context.Context, obj client.Object, _ ...client.UpdateOption) error {
	kept, err := m.unchanged(obj)
	if err != nil {
		return err
	}
	obj.(*v1alpha1.RemediationBreaker).Spec.DeepCopyInto(&kept.Spec)
	kept.Annotations = obj.GetAnnotations()
	m.written(kept, obj)
	return nil
}

// Status writes statuses.
func (m *Memory) Status() client.SubResourceWriter { return statuses{m: m} }

// SubResource writes statuses.
func (m *Memory) SubResource(string) client.SubResourceClient { return statuses{m: m} }

type statuses struct {
	client.SubResourceClient
	m *Memory
}

// Update keeps a status, or conflicts as the API server does.
func (s statuses) Update(_ context.Context, obj client.Object, _ ...client.SubResourceUpdateOption) error {
	kept, err := s.m.unchanged(obj)
	if err != nil {
		return err
	}
	s.m.Writes++
	obj.(*v1alpha1.RemediationBreaker).Status.DeepCopyInto(&kept.Status)
	s.m.written(kept, obj)
	return nil
}

func (m *Memory) written(kept *v1alpha1.RemediationBreaker, obj client.Object) {
	kept.ResourceVersion += "1"
	obj.SetResourceVersion(kept.ResourceVersion)
}

// unchanged is what is kept of a breaker, or a conflict when it isn't what was read.
func (m *Memory) unchanged(obj client.Object) (*v1alpha1.RemediationBreaker, error) {
	kept := m.Kept[obj.GetName()]
	if kept == nil || kept.UID != obj.GetUID() || kept.ResourceVersion != obj.GetResourceVersion() {
		return nil, apierrors.NewConflict(breakers(), obj.GetName(), errors.New("it was written since"))
	}
	return kept, nil
}
