// SPDX-License-Identifier: Apache-2.0

package recordtest

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// Memory keeps plans and their slices in memory.
type Memory struct {
	client.Writer // nil: only Update is called

	plans  []v1alpha1.Remediation
	Slices map[string]*v1alpha1.RemediationSlice
	// Fetched counts the slices that were read.
	Fetched int
	// Frozen is what the metadata of slices are answered with, when it is set: a
	// server that lies about what is current.
	Frozen *metav1.PartialObjectMetadataList
}

// MemoryOf keeps some plans and slices.
func MemoryOf(plans []*v1alpha1.Remediation, slices ...*v1alpha1.RemediationSlice) *Memory {
	m := &Memory{Slices: map[string]*v1alpha1.RemediationSlice{}}
	for _, rem := range plans {
		m.plans = append(m.plans, *rem)
	}
	for _, s := range slices {
		m.Slices[s.Name] = s.DeepCopy()
		m.Slices[s.Name].ResourceVersion = "1"
	}
	return m
}

// Get reads a slice, and counts it.
func (m *Memory) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	kept := m.Slices[key.Name]
	if kept == nil {
		return apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("remediationslices").GroupResource(), key.Name)
	}
	m.Fetched++
	slice, ok := obj.(*v1alpha1.RemediationSlice)
	if !ok {
		return fmt.Errorf("%T isn't kept", obj)
	}
	kept.DeepCopyInto(slice)
	return nil
}

// List gives all plans, or the metadata of all slices: no test has those of two plans.
func (m *Memory) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list := list.(type) {
	case *v1alpha1.RemediationList:
		list.Items = append(list.Items, m.plans...)
	case *metav1.PartialObjectMetadataList:
		m.metadata().DeepCopyInto(list)
	default:
		return fmt.Errorf("%T isn't kept", list)
	}
	return nil
}

func (m *Memory) metadata() *metav1.PartialObjectMetadataList {
	if m.Frozen != nil {
		return m.Frozen
	}
	all := &metav1.PartialObjectMetadataList{}
	for _, s := range m.Slices {
		all.Items = append(all.Items, metav1.PartialObjectMetadata{ObjectMeta: s.ObjectMeta})
	}
	return all
}

// Update keeps a slice, or conflicts as the API server does.
func (m *Memory) Update(_ context.Context, obj client.Object, _ ...client.UpdateOption) error {
	slice, ok := obj.(*v1alpha1.RemediationSlice)
	if !ok {
		return fmt.Errorf("%T isn't kept", obj)
	}
	kept := m.Slices[slice.Name]
	if kept.ResourceVersion != slice.ResourceVersion {
		return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("remediationslices").GroupResource(),
			slice.Name, errors.New("it was written since"))
	}
	version := kept.ResourceVersion + "1"
	slice.DeepCopyInto(kept)
	kept.ResourceVersion = version
	slice.ResourceVersion = kept.ResourceVersion
	return nil
}

// hashOfPlans is the hash of every plan here.
const hashOfPlans = "5e1f0f6a1c3d4b7a9e2d8c4b6a0f1e3d5e1f0f6a1c3d4b7a9e2d8c4b6a0f1e3d"

// PlanAtWork is a plan with one slice of n targets, all in one namespace, of which so many may be in flight over all
// plans.
func PlanAtWork(name string, n int, total int32, states ...v1alpha1.TargetState) (
	*v1alpha1.Remediation, *v1alpha1.RemediationSlice) {
	rem := &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: name}}
	rem.Spec.Plan.Targets, rem.Spec.Plan.Slices, rem.Spec.Plan.Hash = int32(n), []string{name + "-0"}, hashOfPlans
	rem.Spec.Plan.Rollout = fixture.Planned(v1alpha1.RemediationAutomatic)
	rem.Spec.Plan.Rollout.MaxTotalInFlight = total
	rem.Status.Phase = v1alpha1.PhaseApplying
	slice := &v1alpha1.RemediationSlice{ObjectMeta: metav1.ObjectMeta{Name: name + "-0"}}
	for i := range n {
		slice.Targets = append(slice.Targets, v1alpha1.Target{Object: v1alpha1.ObjectReference{
			Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprint(i), UID: fmt.Sprintf("%s/%d", name, i)}})
		state := v1alpha1.TargetPending
		if i < len(states) {
			state = states[i]
		}
		slice.Records = append(slice.Records, v1alpha1.TargetRecord{State: state})
	}
	return rem, slice
}
