// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/recordtest"
)

// library is a plan of three slices, which counts what is fetched.
type library struct {
	*recordtest.Memory
	rem *v1alpha1.Remediation
}

func newLibrary() *library {
	rem, slice := recordtest.PlanAtWork("plan", 4, 0)
	rem.Spec.Plan.Slices = nil
	var parts []*v1alpha1.RemediationSlice
	for _, name := range []string{"plan-0", "plan-1", "plan-2"} {
		part := slice.DeepCopy()
		part.Name = name
		rem.Spec.Plan.Slices, parts = append(rem.Spec.Plan.Slices, name), append(parts, part)
	}
	return &library{Memory: recordtest.MemoryOf(nil, parts...), rem: rem}
}

func (l *library) read(t *testing.T, s *Cache) *Records {
	t.Helper()
	l.Fetched = 0
	b, err := s.Read(context.Background(), l.rem)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// begin records a write of a target and stores it, as a step does.
func begin(b *Records, c client.Writer, target int) error {
	b.Set(target, v1alpha1.TargetRecord{State: v1alpha1.TargetIntent})
	return b.Save(context.Background(), c)
}

func TestCacheFetchesOnlyWhatHasChanged(t *testing.T) {
	l := newLibrary()
	s := NewCache(l)
	b := l.read(t, s)
	if l.Fetched != 3 {
		t.Errorf("the first time all are fetched: want 3, got %d", l.Fetched)
	}
	if err := begin(b, l, 5); err != nil {
		t.Fatal(err)
	}
	b = l.read(t, s)
	if l.Fetched != 1 || b.Record(5).State != v1alpha1.TargetIntent {
		t.Errorf("one slice has changed: want 1 fetched and %s, got %d and %s", v1alpha1.TargetIntent, l.Fetched,
			b.Record(5).State)
	}
	if l.read(t, s); l.Fetched != 0 {
		t.Errorf("nothing has changed: want 0 fetched, got %d", l.Fetched)
	}
}

func TestCacheLendsCopies(t *testing.T) {
	l := newLibrary()
	s := NewCache(l)
	l.read(t, s).Set(0, v1alpha1.TargetRecord{State: v1alpha1.TargetDone}) // never saved
	if b := l.read(t, s); b.Record(0).State != v1alpha1.TargetPending {
		t.Errorf("what wasn't saved must not be read again: want %s, got %s", v1alpha1.TargetPending, b.Record(0).State)
	}
}

// Somebody else, a new leader say, records a write, and the copies are stale, for
// the server lies: recording the same write again conflicts, so it is never sent.
func TestStaleCacheNeverWritesTwice(t *testing.T) {
	l := newLibrary()
	s := NewCache(l)
	l.read(t, s)
	l.Frozen = &metav1.PartialObjectMetadataList{}
	for _, slice := range s.plans[l.rem.Name] {
		l.Frozen.Items = append(l.Frozen.Items, metav1.PartialObjectMetadata{ObjectMeta: slice.ObjectMeta})
	}
	theirs, err := Read(context.Background(), l, l.rem)
	if err != nil {
		t.Fatal(err)
	}
	if err := begin(theirs, l, 5); err != nil {
		t.Fatal(err)
	}
	stale := l.read(t, s)
	if l.Fetched != 0 || stale.Record(5).State != v1alpha1.TargetPending {
		t.Fatalf("the copy isn't stale: %d fetched, %s", l.Fetched, stale.Record(5).State)
	}
	if err := begin(stale, l, 5); !apierrors.IsConflict(err) {
		t.Fatalf("a stale record must not be stored: want a conflict, got %v", err)
	}
	s.Drop(l.rem.Name)
	if b := l.read(t, s); b.Record(5).State != v1alpha1.TargetIntent {
		t.Errorf("after a conflict all is read anew: want %s, got %s", v1alpha1.TargetIntent, b.Record(5).State)
	}
}

// A plan that is deleted and made again under its name isn't the one that the kept slices
// belong to, though they haven't changed.
func TestTheRecordsOfAnotherPlanOfTheNameAreNotRead(t *testing.T) {
	l := newLibrary()
	l.rem.UID = "first"
	for _, slice := range l.Slices {
		slice.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(l.rem, v1alpha1.GroupVersion.WithKind("Remediation"))}
	}
	s := NewCache(l)
	l.read(t, s)
	l.rem.UID, l.Fetched = "second", 0
	var incomplete IncompleteError
	if _, err := s.Read(context.Background(), l.rem); !errors.As(err, &incomplete) || !incomplete.Foreign ||
		l.Fetched != 0 {
		t.Errorf("read from what is kept: %v, %d fetched; want the records to be another plan's", err, l.Fetched)
	}
	for _, slice := range l.Slices {
		slice.OwnerReferences = nil // as a backup tool restores it
	}
	if _, err := Read(context.Background(), l, l.rem); err != nil {
		t.Errorf("records without an owner are adopted: %v", err)
	}
}
