package remediate

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// library is a cluster with a plan of three slices, which counts what is fetched.
type library struct {
	client.Client
	rem     *v1alpha1.Remediation
	fetched int
	// frozen is what the metadata of slices are answered with, when it is set: a
	// server that lies about what is current.
	frozen *metav1.PartialObjectMetadataList
}

func newLibrary(t *testing.T) *library {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	rem, slice := planAtWork("plan", 4, "")
	l := &library{rem: rem}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(slice)
	rem.Spec.Slices = nil
	for _, name := range []string{"plan-0", "plan-1", "plan-2"} {
		part := slice.DeepCopy()
		part.Name, part.Labels = name, map[string]string{v1alpha1.LabelRemediation: rem.Name}
		rem.Spec.Slices = append(rem.Spec.Slices, name)
		builder = builder.WithObjects(part)
	}
	l.Client = builder.WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			l.fetched++
			return c.Get(ctx, key, obj, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if metadata, is := list.(*metav1.PartialObjectMetadataList); is && l.frozen != nil {
				l.frozen.DeepCopyInto(metadata)
				return nil
			}
			return c.List(ctx, list, opts...)
		},
	}).Build()
	return l
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
func begin(b *book, c client.Client, target int) error {
	b.set(target, v1alpha1.TargetRecord{State: v1alpha1.TargetIntent})
	return b.save(context.Background(), c)
}

func TestShelfFetchesOnlyWhatHasChanged(t *testing.T) {
	l := newLibrary(t)
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
	l := newLibrary(t)
	s := newShelf(l)
	l.read(t, s).set(0, v1alpha1.TargetRecord{State: v1alpha1.TargetDone}) // never saved
	if b := l.read(t, s); b.record(0).State != v1alpha1.TargetPending {
		t.Errorf("what wasn't saved must not be read again: want %s, got %s", v1alpha1.TargetPending, b.record(0).State)
	}
}

// Somebody else, a new leader say, records a write, and the copies are stale, for
// the server lies: recording the same write again conflicts, so it is never sent.
func TestStaleShelfNeverWritesTwice(t *testing.T) {
	l := newLibrary(t)
	s := newShelf(l)
	l.read(t, s)
	l.frozen = &metav1.PartialObjectMetadataList{}
	l.frozen.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("RemediationSliceList"))
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
