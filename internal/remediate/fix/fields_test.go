// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/test/fixtest"
)

// What a fix sets is judged before anything is sent; what is removed sets nothing.
func TestTheFieldsOfAFixAreJudgedBeforeItIsSent(t *testing.T) {
	powerful := fixtest.Widget(nil)
	if err := setNestedSlice(powerful.Object,
		map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "x"}); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		patched map[string]any
		want    bool
	}{
		"a label":          {fixtest.Widget(map[string]any{"a": "b"}).Object, false},
		"a field of power": {powerful.Object, true},
		"it is removed":    {nil, false},
	} {
		d := newDesk(t)
		d.Object, d.Patched = fixtest.Widget(nil), tc.patched
		if rec := RespectFields(t.Context(), d.Attempt); (rec != nil) != tc.want ||
			rec != nil && rec.Reason != v1alpha1.ReasonNotAllowed {
			t.Errorf("%s: %+v", name, rec)
		}
	}
}

// A change of the object and one of its status are two changes, and not none.
func TestAFixOfAnObjectAndItsStatusChangesBoth(t *testing.T) {
	d := newDesk(t)
	d.Object, d.Snapshot = fixtest.Widget(map[string]any{}), fixtest.Verdicts{}
	d.decision.Actions = []policy.Action{{Type: policy.ActionPatch, Ops: []policy.PatchOp{
		{Op: "add", Path: "/metadata/labels/a", Value: "b", HasValue: true}}},
		{Type: policy.ActionPatch, Subresource: policy.StatusSubresource, Ops: []policy.PatchOp{
			{Op: "add", Path: "/status", Value: map[string]any{"phase": "x"}, HasValue: true}}}}
	if rec := ComputeFix(t.Context(), d.Attempt); rec != nil {
		t.Errorf("got %s: %s", rec.Reason, rec.Message)
	}
	if n, m := len(action.Diff(d.Object.Object, d.Patched)),
		len(action.DiffStatus(d.Object.Object, d.Patched)); n != m {
		t.Errorf("%d fields and %d of the status: they are to be as many", n, m)
	}
}

// What was sent is known by what the server has stored: the next write goes on that.
func TestAWriteKeepsWhatTheServerStored(t *testing.T) {
	d := newDesk(t)
	w, does := d.recorded(0)
	before := w.Base
	if err := does.Send(t.Context(), d.Targets, w); err != nil {
		t.Fatal(err)
	}
	if w.Base == before || w.Base.GetResourceVersion() == before.GetResourceVersion() {
		t.Errorf("it goes on version %s", w.Base.GetResourceVersion())
	}
}
