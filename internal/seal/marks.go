// SPDX-License-Identifier: Apache-2.0

package seal

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

// MarksName is the Secret, in the manager's own namespace, that holds how far the
// records of each plan have come.
const MarksName = "evenkeel-record-marks"

// spareMarks is how many marks of plans that are gone may pile up, beside as many as
// there were plans.
const spareMarks = 100

// Marks remember how far the records of each plan have come, so that an earlier
// genuine status that somebody brings back isn't taken for the latest. Whoever may
// write plans and slices can't write the Secret that they are kept in.
//
// A mark is never ahead of what is stored: it is raised after a status was written.
// So a crash in between leaves a status that is newer than its mark, which counts.
type Marks struct {
	// Reader reads past every cache.
	Reader client.Reader
	Writer client.Client
	// Namespace is the manager's own.
	Namespace string

	mu sync.Mutex
	// secret is the Secret as it was read or written last; nil before.
	secret *corev1.Secret
	// seen is by the plan's UID, and holds at least what the Secret does.
	seen map[string]mark
	// loaded is how many plans there were when the Secret was read.
	loaded int
}

// mark is how far a plan has come: its own sequence, and those of its slices added up.
type mark struct{ plan, slices int64 }

func (m mark) String() string { return fmt.Sprintf("%d.%d", m.plan, m.slices) }

func (m mark) atLeast(other mark) mark {
	return mark{max(m.plan, other.plan), max(m.slices, other.slices)}
}

// CheckPlan errs with ErrUnproven when a plan's status is an earlier one.
func (m *Marks) CheckPlan(ctx context.Context, plan *v1alpha1.Remediation) error {
	known, err := m.known(ctx, plan)
	if err == nil && plan.Status.Sequence < known.plan {
		return earlier("Remediation "+plan.Name, plan.Status.Sequence, known.plan)
	}
	return err
}

// CheckSlices errs with ErrUnproven when the status of any of a plan's slices is an
// earlier one. It takes all of the plan's slices.
func (m *Marks) CheckSlices(ctx context.Context, plan *v1alpha1.Remediation,
	slices []*v1alpha1.RemediationSlice) error {
	known, err := m.known(ctx, plan)
	if sum := sumOf(slices); err == nil && sum < known.slices {
		return earlier("the records of Remediation "+plan.Name, sum, known.slices)
	}
	return err
}

func earlier(what string, have, want int64) error {
	return fmt.Errorf("%s: what is recorded is older than what the manager recorded last (%d of %s): somebody "+
		"has brought an earlier state back: %w", what, have, prose.Count(want, "write"), ErrUnproven)
}

func sumOf(slices []*v1alpha1.RemediationSlice) (sum int64) {
	for _, s := range slices {
		sum += s.Sequence
	}
	return sum
}

func (m *Marks) known(ctx context.Context, plan *v1alpha1.Remediation) (mark, error) {
	if m == nil {
		return mark{}, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.secret == nil {
		if err := m.load(ctx); err != nil {
			return mark{}, err
		}
	}
	return m.seen[string(plan.UID)], nil
}

// Behind says whether a plan's mark isn't kept yet: the manager ended in between.
func (m *Marks) Behind(plan *v1alpha1.Remediation) bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.secret == nil || kept(m.secret, string(plan.UID)).plan < plan.Status.Sequence
}

// Seen raises the mark of a plan to what was read, or written, and is proven. slices
// are all of the plan's, or none.
func (m *Marks) Seen(plan *v1alpha1.Remediation, slices []*v1alpha1.RemediationSlice) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen == nil {
		m.seen = map[string]mark{}
	}
	uid := string(plan.UID)
	m.seen[uid] = m.seen[uid].atLeast(mark{plan.Status.Sequence, sumOf(slices)})
}

// Keep writes the mark of a plan down, if it was raised.
func (m *Marks) Keep(ctx context.Context, plan *v1alpha1.Remediation) error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	uid := string(plan.UID)
	if m.secret == nil || len(m.secret.Data) > 2*m.loaded+spareMarks {
		if err := m.load(ctx); err != nil {
			return err
		}
	}
	if m.seen[uid] == kept(m.secret, uid) {
		return nil
	}
	err := m.write(ctx, uid)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		if err = m.load(ctx); err == nil {
			err = m.write(ctx, uid)
		}
	}
	if err != nil {
		return fmt.Errorf("keep how far the records have come, in Secret %s/%s: %w", m.Namespace, MarksName, err)
	}
	return nil
}

func (m *Marks) write(ctx context.Context, uid string) error {
	next := m.secret.DeepCopy()
	if next.Data == nil {
		next.Data = map[string][]byte{}
	}
	next.Data[uid] = []byte(m.seen[uid].String())
	var err error
	if next.ResourceVersion == "" {
		err = m.Writer.Create(ctx, next, client.FieldOwner(v1alpha1.FieldManager))
	} else {
		err = m.Writer.Update(ctx, next, client.FieldOwner(v1alpha1.FieldManager))
	}
	if err == nil {
		m.secret = next
	}
	return err
}

// load reads the marks, and leaves out those of plans that are gone.
func (m *Marks) load(ctx context.Context) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: MarksName}}
	if err := m.Reader.Get(ctx, client.ObjectKeyFromObject(secret), secret); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read how far the records have come, in Secret %s/%s: %w", m.Namespace, MarksName, err)
	}
	plans := &metav1.PartialObjectMetadataList{}
	plans.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("RemediationList"))
	if err := m.Reader.List(ctx, plans); err != nil {
		return fmt.Errorf("list the plans whose records are marked: %w", err)
	}
	data, seen := map[string][]byte{}, map[string]mark{}
	for _, plan := range plans.Items {
		uid := string(plan.UID)
		if text, found := secret.Data[uid]; found {
			data[uid] = text
		}
		seen[uid] = m.seen[uid].atLeast(kept(secret, uid))
	}
	secret.Data = data
	m.secret, m.seen, m.loaded = secret, seen, len(seen)
	return nil
}

// kept is a plan's mark as the Secret holds it.
func kept(secret *corev1.Secret, uid string) (out mark) {
	if _, err := fmt.Sscanf(string(secret.Data[uid]), "%d.%d", &out.plan, &out.slices); err != nil {
		return mark{}
	}
	return out
}
