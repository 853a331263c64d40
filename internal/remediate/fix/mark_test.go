// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/test/fixtest"
)

// marked says whether an object names a plan.
func marked(object map[string]any) bool {
	_, has := action.MarkOf(object)
	return has
}

// disliked is a policy that is violated by the mark alone.
func disliked(object map[string]any) *policy.Decision {
	if !marked(object) {
		return &policy.Decision{}
	}
	return &policy.Decision{Violations: []policy.Violation{{Message: "this annotation isn't allowed"}}}
}

// refusesMarks answers a patch that sets the mark with an error.
func (d *desk) refusesMarks(err error) {
	d.intercepts(interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, obj client.Object,
		patch client.Patch, opts ...client.PatchOption) error {
		raw, failed := patch.Data(obj)
		if failed == nil && strings.Contains(string(raw), "last-remediation") {
			return err
		}
		return c.Patch(ctx, obj, patch, opts...)
	}})
}

// The mark is a courtesy: whoever objects to it gets the fix without it.
func TestAMarkKeepsNoFixFromBeingWritten(t *testing.T) {
	many := slices.Repeat([]policy.PatchOp{fixtest.SetState("good").Ops[0]}, maxRecordItems)
	for name, tc := range map[string]struct {
		given func(*desk)
		want  bool
	}{
		"nobody objects":                        {func(*desk) {}, true},
		"it is turned off":                      {func(d *desk) { d.Targets.Annotate = false }, false},
		"another policy forbids the annotation": {func(d *desk) { d.judges["annotations"] = disliked }, false},
		"the plan's own policy forbids it": {func(d *desk) {
			bad := fixtest.BadState(fixtest.SetState("good"))
			d.judges["state"] = func(object map[string]any) *policy.Decision {
				if decision := disliked(object); len(decision.Violations) > 0 {
					return decision
				}
				return bad(object)
			}
		}, false},
		"a webhook denies it": {func(d *desk) {
			d.refusesMarks(apierrors.NewForbidden(schema.GroupResource{}, "web",
				errors.New(`admission webhook "x.example.com" denied the request`)))
		}, false},
		"the API server has no room for it": {func(d *desk) {
			d.refusesMarks(apierrors.NewInvalid(schema.GroupKind{}, "web", nil))
		}, false},
		"the record has just room for it": {func(d *desk) {
			d.proposes(policy.Action{Type: policy.ActionPatch, Ops: many[:maxRecordItems-1]})
		}, true},
		"the record has no room for it": {func(d *desk) {
			d.proposes(policy.Action{Type: policy.ActionPatch, Ops: many})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			tc.given(d)
			rec := d.Prepare(t.Context())
			if rec.State != v1alpha1.TargetIntent {
				t.Fatalf("it is %s (%s): %s", rec.State, rec.Reason, rec.Message)
			}
			if err := (Patching{}).Send(t.Context(), d.Targets, d.Writes[0]); err != nil {
				t.Fatal(err)
			}
			if got := marked(d.read().Object); got != tc.want || action.MarkOnly(rec.Write.Forward) != nil != tc.want {
				t.Errorf("marked: %t, want %t; the record says %+v", got, tc.want, rec.Write.Forward)
			}
			if len(rec.Write.Fields) != 1 || rec.Write.Beyond != "" {
				t.Errorf("the mark counts as a part of the fix: %+v", rec.Write)
			}
		})
	}
}

// An error of the API server that isn't about the mark is no reason to leave it out.
func TestAMarkIsTriedAgainAfterATransientError(t *testing.T) {
	d := newDesk(t)
	d.refusesMarks(apierrors.NewServiceUnavailable("later"))
	if rec := d.Prepare(t.Context()); rec.State != v1alpha1.TargetPending {
		t.Errorf("it is %s (%s): %s", rec.State, rec.Reason, rec.Message)
	}
}

// What would be approved is the same with and without the mark, and a fix that sets it
// itself is none.
func TestAMarkIsNoPartOfWhatIsApproved(t *testing.T) {
	told := map[bool]string{}
	for _, annotate := range []bool{true, false} {
		d := newDesk(t)
		d.Targets.Annotate = annotate
		change, rec := d.Propose(t.Context())
		if rec != nil || strings.Contains(change.String(), "last-remediation") {
			t.Fatalf("%+v; %s", rec, change.String())
		}
		told[annotate] = change.String()
	}
	if told[true] != told[false] {
		t.Errorf("%s\n%s", told[true], told[false])
	}
	d := newDesk(t)
	d.proposes(fixtest.SetState("good"), policy.Action{Type: policy.ActionPatch, Ops: []policy.PatchOp{
		{Op: "add", Path: "/metadata/annotations", HasValue: true,
			Value: map[string]any{v1alpha1.AnnotationLastRemediation: "forged"}}}})
	if rec := d.Prepare(t.Context()); rec.Reason != v1alpha1.ReasonFixInvalid {
		t.Errorf("it is %s (%s): %s", rec.State, rec.Reason, rec.Message)
	}
}

// A target that is clean isn't written for the mark alone, and what a person makes of the
// mark is no opt-out, no edit of the fix's fields, and is recorded to be restored.
func TestAPersonsMark(t *testing.T) {
	d := newDesk(t)
	d.change(func(web *corev1.ConfigMap) { web.Data["state"] = "good" })
	if rec := d.Prepare(t.Context()); rec.Reason != v1alpha1.ReasonAlreadyClean {
		t.Errorf("it is %s (%s): %s", rec.State, rec.Reason, rec.Message)
	}

	d = newDesk(t)
	if rec := d.Prepare(t.Context()); rec.State != v1alpha1.TargetIntent {
		t.Fatalf("it is %s (%s): %s", rec.State, rec.Reason, rec.Message)
	}
	d.change(func(web *corev1.ConfigMap) {
		web.Annotations = map[string]string{v1alpha1.AnnotationLastRemediation: "me"}
	})
	if rec := d.SameAsComputed(t.Context()); rec == nil || rec.Reason != v1alpha1.ReasonRetrying {
		t.Fatalf("the mark that was there isn't recorded, and it would be written: %+v", rec)
	}
	rec := d.Prepare(t.Context())
	if err := (Patching{}).Send(t.Context(), d.Targets, d.Writes[0]); err != nil || rec.State != v1alpha1.TargetIntent {
		t.Fatal(rec, err)
	}
	undone := Patching{}.Undo(t.Context(), d.Targets, d.Target.Object, &d.Writes[0].Record,
		Finding{Side: SideAfter, Object: d.read()})
	if mark, _ := action.MarkOf(d.read().Object); mark != "me" || undone.State != v1alpha1.TargetReverted {
		t.Errorf("marked %q after %+v", mark, undone)
	}
}
