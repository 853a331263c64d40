package remediate

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// library is a plan of three slices, which counts what is fetched.
type library struct {
	*planMemory
	rem *v1alpha1.Remediation
}

func newLibrary() *library {
	rem, slice := planAtWork("plan", 4, "")
	rem.Spec.Plan.Slices = nil
	var parts []*v1alpha1.RemediationSlice
	for _, name := range []string{"plan-0", "plan-1", "plan-2"} {
		part := slice.DeepCopy()
		part.Name = name
		rem.Spec.Plan.Slices, parts = append(rem.Spec.Plan.Slices, name), append(parts, part)
	}
	return &library{planMemory: memoryOfPlans(nil, parts...), rem: rem}
}

func (l *library) read(t *testing.T, s *shelf) *book {
	t.Helper()
	l.fetched = 0
	b, err := s.book(context.Background(), l.rem)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// begin records a write of a target and stores it, as a step does.
func begin(b *book, c client.Writer, target int) error {
	b.set(target, v1alpha1.TargetRecord{State: v1alpha1.TargetIntent})
	return b.save(context.Background(), c)
}

func TestShelfFetchesOnlyWhatHasChanged(t *testing.T) {
	l := newLibrary()
	s := newShelf(l)
	b := l.read(t, s)
	if l.fetched != 3 {
		t.Errorf("the first time all are fetched: want 3, got %d", l.fetched)
	}
	if err := begin(b, l, 5); err != nil {
		t.Fatal(err)
	}
	b = l.read(t, s)
	if l.fetched != 1 || b.record(5).State != v1alpha1.TargetIntent {
		t.Errorf("one slice has changed: want 1 fetched and %s, got %d and %s", v1alpha1.TargetIntent, l.fetched, b.record(5).State)
	}
	if l.read(t, s); l.fetched != 0 {
		t.Errorf("nothing has changed: want 0 fetched, got %d", l.fetched)
	}
}

func TestShelfLendsCopies(t *testing.T) {
	l := newLibrary()
	s := newShelf(l)
	l.read(t, s).set(0, v1alpha1.TargetRecord{State: v1alpha1.TargetDone}) // never saved
	if b := l.read(t, s); b.record(0).State != v1alpha1.TargetPending {
		t.Errorf("what wasn't saved must not be read again: want %s, got %s", v1alpha1.TargetPending, b.record(0).State)
	}
}

// Somebody else, a new leader say, records a write, and the copies are stale, for
// the server lies: recording the same write again conflicts, so it is never sent.
func TestStaleShelfNeverWritesTwice(t *testing.T) {
	l := newLibrary()
	s := newShelf(l)
	l.read(t, s)
	l.frozen = &metav1.PartialObjectMetadataList{}
	for _, slice := range s.plans[l.rem.Name] {
		l.frozen.Items = append(l.frozen.Items, metav1.PartialObjectMetadata{ObjectMeta: slice.ObjectMeta})
	}
	theirs, err := readBook(context.Background(), l, l.rem)
	if err != nil {
		t.Fatal(err)
	}
	if err := begin(theirs, l, 5); err != nil {
		t.Fatal(err)
	}
	stale := l.read(t, s)
	if l.fetched != 0 || stale.record(5).State != v1alpha1.TargetPending {
		t.Fatalf("the copy isn't stale: %d fetched, %s", l.fetched, stale.record(5).State)
	}
	if err := begin(stale, l, 5); !apierrors.IsConflict(err) {
		t.Fatalf("a stale record must not be stored: want a conflict, got %v", err)
	}
	s.drop(l.rem.Name)
	if b := l.read(t, s); b.record(5).State != v1alpha1.TargetIntent {
		t.Errorf("after a conflict all is read anew: want %s, got %s", v1alpha1.TargetIntent, b.record(5).State)
	}
}
