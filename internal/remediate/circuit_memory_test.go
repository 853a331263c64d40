package remediate

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

// breakerMemory keeps breakers in memory, by name.
type breakerMemory struct {
	kept map[string]*v1alpha1.RemediationBreaker
	// made counts what was ever created: each has another UID.
	made int
	// writes counts the writes of a status that changed it.
	writes int
	// unreadable makes every read of one fail.
	unreadable bool
}

func memoryOf(breakers ...*v1alpha1.RemediationBreaker) *breakerMemory {
	m := &breakerMemory{kept: map[string]*v1alpha1.RemediationBreaker{}}
	for _, cb := range breakers {
		m.kept[cb.Name] = m.born(cb)
	}
	return m
}

func (m *breakerMemory) born(cb *v1alpha1.RemediationBreaker) *v1alpha1.RemediationBreaker {
	m.made++
	made := cb.DeepCopy()
	made.UID, made.ResourceVersion = types.UID(strconv.Itoa(m.made)), "1"
	return made
}

func (m *breakerMemory) Get(_ context.Context, name string) (*v1alpha1.RemediationBreaker, error) {
	switch cb := m.kept[name]; {
	case m.unreadable:
		return nil, errors.New("etcd is down")
	case cb == nil:
		return nil, apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("remediationbreakers").GroupResource(), name)
	default:
		return cb.DeepCopy(), nil
	}
}

func (m *breakerMemory) All(context.Context) ([]v1alpha1.RemediationBreaker, error) {
	var all []v1alpha1.RemediationBreaker
	for _, name := range slices.Sorted(maps.Keys(m.kept)) {
		all = append(all, *m.kept[name].DeepCopy())
	}
	return all, nil
}

func (m *breakerMemory) Create(_ context.Context, cb *v1alpha1.RemediationBreaker) error {
	m.kept[cb.Name] = m.born(cb)
	m.kept[cb.Name].DeepCopyInto(cb)
	return nil
}

func (m *breakerMemory) WriteStatus(_ context.Context, _, cb *v1alpha1.RemediationBreaker) error {
	kept, err := m.unchanged(cb)
	if err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(kept.Status, cb.Status) {
		return nil // as kube.StatusWriter does
	}
	m.writes++
	cb.Status.DeepCopyInto(&kept.Status)
	m.written(kept, cb)
	return nil
}

func (m *breakerMemory) Remove(_ context.Context, cb *v1alpha1.RemediationBreaker) error {
	if _, err := m.unchanged(cb); err != nil {
		return err
	}
	delete(m.kept, cb.Name)
	return nil
}

// writeSpec is what a person does.
func (m *breakerMemory) writeSpec(cb *v1alpha1.RemediationBreaker) error {
	kept, err := m.unchanged(cb)
	if err != nil {
		return err
	}
	cb.Spec.DeepCopyInto(&kept.Spec)
	m.written(kept, cb)
	return nil
}

func (m *breakerMemory) written(kept, cb *v1alpha1.RemediationBreaker) {
	kept.ResourceVersion += "1"
	cb.ResourceVersion = kept.ResourceVersion
}

// unchanged is what is kept of a breaker, or a conflict when it isn't what was read.
func (m *breakerMemory) unchanged(cb *v1alpha1.RemediationBreaker) (*v1alpha1.RemediationBreaker, error) {
	kept := m.kept[cb.Name]
	if kept == nil || kept.UID != cb.UID || kept.ResourceVersion != cb.ResourceVersion {
		return nil, apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("remediationbreakers").GroupResource(), cb.Name, errors.New("it was written since"))
	}
	return kept, nil
}
