// SPDX-License-Identifier: Apache-2.0

package seal

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// rollout is a plan with two slices, as the manager works on it.
type rollout struct {
	*world
	marks  *Marks
	plan   *v1alpha1.Remediation
	slices []*v1alpha1.RemediationSlice
}

func newRollout(t *testing.T) *rollout {
	t.Helper()
	r := &rollout{world: newWorld(t), plan: plan("plan"),
		slices: []*v1alpha1.RemediationSlice{slice("plan-0"), slice("plan-1")}}
	r.plan.UID = "p1"
	r.begin()
	for _, obj := range []client.Object{r.plan, r.slices[0], r.slices[1]} {
		if err := r.writer.Create(context.Background(), obj); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// begin is a manager that has just started.
func (r *rollout) begin() {
	r.restart()
	r.marks = &Marks{Reader: r.api, Writer: r.api, Namespace: "evenkeel-system"}
}

// writes has the manager write some of its statuses.
func (r *rollout) writes(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, obj := range objects {
		switch o := obj.(type) {
		case *v1alpha1.RemediationSlice:
			o.Records = []v1alpha1.TargetRecord{{State: v1alpha1.TargetApplied, Attempts: int32(o.Sequence)}}
		case *v1alpha1.Remediation:
			o.Status.Wave++
		}
		if err := store(r.writer, obj); err != nil {
			t.Fatal(err)
		}
	}
}

// store writes what is recorded where its kind has it.
func store(c client.Client, obj client.Object) error {
	if _, isSlice := obj.(*v1alpha1.RemediationSlice); isSlice {
		return c.Update(context.Background(), obj)
	}
	return c.Status().Update(context.Background(), obj)
}

// keeps ends a step.
func (r *rollout) keeps(t *testing.T) {
	t.Helper()
	r.marks.Seen(r.plan, r.slices)
	if err := r.marks.Keep(context.Background(), r.plan); err != nil {
		t.Fatal(err)
	}
}

// bringBack stores an earlier status of an object, as whoever may write it can.
func (r *rollout) bringBack(t *testing.T, earlier client.Object) {
	t.Helper()
	ctx, now := context.Background(), earlier.DeepCopyObject().(client.Object)
	if err := r.api.Get(ctx, client.ObjectKeyFromObject(earlier), now); err != nil {
		t.Fatal(err)
	}
	earlier.SetResourceVersion(now.GetResourceVersion())
	if err := store(r.api, earlier); err != nil {
		t.Fatal(err)
	}
}

// check reads all anew and proves it.
func (r *rollout) check(t *testing.T) error {
	t.Helper()
	ctx, p, slices := context.Background(), &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: "plan"}},
		[]*v1alpha1.RemediationSlice{}
	if err := r.get(t, p); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"plan-0", "plan-1"} {
		s := &v1alpha1.RemediationSlice{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := r.get(t, s); err != nil {
			t.Fatal(err)
		}
		slices = append(slices, s)
	}
	return errors.Join(r.marks.CheckPlan(ctx, p), r.marks.CheckSlices(ctx, p, slices))
}

func TestAnEarlierStatusIsNotTakenForTheLatest(t *testing.T) {
	cases := map[string]struct {
		reason string
		do     func(t *testing.T, r *rollout)
		want   error
	}{
		"what was written last counts": {do: func(t *testing.T, r *rollout) { r.keeps(t) }},
		"what was written last counts after a restart": {do: func(t *testing.T, r *rollout) {
			r.keeps(t)
			r.begin()
		}},
		"a write before a crash counts, though its mark wasn't kept": {do: func(t *testing.T, r *rollout) {
			r.keeps(t)
			r.writes(t, r.slices[0], r.plan)
			r.begin()
		}},
		"an earlier slice": {want: ErrUnproven, do: func(t *testing.T, r *rollout) {
			earlier := r.slices[0].DeepCopy()
			r.writes(t, r.slices[0])
			r.keeps(t)
			r.bringBack(t, earlier)
		}},
		"an earlier slice, after a restart": {want: ErrUnproven, do: func(t *testing.T, r *rollout) {
			earlier := r.slices[0].DeepCopy()
			r.writes(t, r.slices[0])
			r.keeps(t)
			r.bringBack(t, earlier)
			r.begin()
		}},
		"an earlier slice, while the manager is in the middle of a step": {
			want: ErrUnproven, do: func(t *testing.T, r *rollout) {
				earlier := r.slices[0].DeepCopy()
				r.keeps(t)
				r.writes(t, r.slices[0])
				r.marks.Seen(r.plan, r.slices)
				r.bringBack(t, earlier)
			}},
		"a slice whose records are wiped, with a sequence of its own": {
			want: ErrUnproven, do: func(t *testing.T, r *rollout) {
				r.keeps(t)
				wiped := r.slices[0].DeepCopy()
				wiped.Records, wiped.Sequence, wiped.Seal = nil, 0, ""
				r.bringBack(t, wiped)
			}},
		"an earlier plan": {want: ErrUnproven, do: func(t *testing.T, r *rollout) {
			earlier := r.plan.DeepCopy()
			r.writes(t, r.plan)
			r.keeps(t)
			r.bringBack(t, earlier)
			r.begin()
		}},
		"a write that was refused moves no mark": {do: func(t *testing.T, r *rollout) {
			stale := r.slices[0].DeepCopy()
			r.writes(t, r.slices[0])
			if err := r.writer.Update(context.Background(), stale); err == nil {
				t.Fatal("the write of what is stale went through")
			}
			r.marks.Seen(r.plan, []*v1alpha1.RemediationSlice{stale, r.slices[1]})
			r.keeps(t)
		}},
		"marks that an administrator has removed are begun anew": {
			reason: "it is the way out", do: func(t *testing.T, r *rollout) {
				earlier := r.slices[0].DeepCopy()
				r.writes(t, r.slices[0])
				r.keeps(t)
				r.bringBack(t, earlier)
				marks := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "evenkeel-system", Name: MarksName}}
				if err := r.api.Delete(context.Background(), marks); err != nil {
					t.Fatal(err)
				}
				r.begin()
			}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRollout(t)
			r.writes(t, r.slices[0], r.slices[1], r.plan)
			tc.do(t, r)
			if err := r.check(t); !errors.Is(err, tc.want) {
				t.Errorf("%s: got %v, want %v", tc.reason, err, tc.want)
			}
		})
	}
}

func TestASequenceWithoutASealIsAForgery(t *testing.T) {
	r := newRollout(t)
	r.writes(t, r.slices[0])
	forged := r.slices[0].DeepCopy()
	forged.Records, forged.Sequence, forged.Seal = nil, 99, ""
	r.bringBack(t, forged)
	if err := r.get(t, forged); !errors.Is(err, ErrUnproven) {
		t.Errorf("got %v, want ErrUnproven", err)
	}
}

func TestMarksOfTwoManagersJoin(t *testing.T) {
	r := newRollout(t)
	r.writes(t, r.slices[0], r.plan)
	r.keeps(t)
	next := &Marks{Reader: r.api, Writer: r.api, Namespace: "evenkeel-system"}
	r.writes(t, r.slices[0])
	next.Seen(r.plan, r.slices)
	if err := next.Keep(context.Background(), r.plan); err != nil {
		t.Fatal(err)
	}
	r.writes(t, r.slices[1])
	r.keeps(t) // by the one whose copy of the Secret is stale
	r.begin()
	if err := r.check(t); err != nil {
		t.Error(err)
	}
	if r.marks.seen["p1"] != (mark{1, 3}) {
		t.Errorf("the mark is %s, want 1.3", r.marks.seen["p1"])
	}
}

func TestMarksOfPlansThatAreGoneDoNotPileUp(t *testing.T) {
	ctx, r := context.Background(), newRollout(t)
	for i := range 3 * spareMarks {
		p := plan(fmt.Sprintf("p-%d", i))
		p.UID = types.UID(p.Name)
		if err := r.writer.Create(ctx, p); err != nil {
			t.Fatal(err)
		}
		p.Status.Sequence = 1
		r.marks.Seen(p, nil)
		if err := r.marks.Keep(ctx, p); err != nil {
			t.Fatal(err)
		}
		if err := r.api.Delete(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(r.marks.secret.Data); n > 2*spareMarks {
		t.Errorf("%d marks are kept", n)
	}
}
