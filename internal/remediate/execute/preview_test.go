// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// crowd leaves so much room, in bytes, in the slice of the target.
func (b *bench) crowd(left int) {
	b.t.Helper()
	held := v1alpha1.TargetRecord{State: v1alpha1.TargetApplied, Write: &v1alpha1.WriteRecord{}}
	slice := &v1alpha1.RemediationSlice{Targets: []v1alpha1.Target{{Object: b.target}, {}},
		Records: []v1alpha1.TargetRecord{{State: v1alpha1.TargetPending}, held}}
	fill := func(n int) *record.Records {
		slice.Records[1].Write.Manifest = &apiextensionsv1.JSON{Raw: []byte(`"` + strings.Repeat("x", n) + `"`)}
		b.pass.Records = &record.Records{}
		b.pass.Records.Add(slice)
		return b.pass.Records
	}
	probe := *b.pass.Records.Record(0).DeepCopy()
	probe.Write = &v1alpha1.WriteRecord{Manifest: &apiextensionsv1.JSON{Raw: []byte(`""`)}}
	probe.Write.Manifest.Raw = []byte(`"` + strings.Repeat("x", left-record.EncodedBytes(&probe)) + `"`)
	low, high := 0, v1alpha1.MaxSliceBytes
	for low < high { // the most that leaves room for the probe
		if n := (low + high + 1) / 2; fill(n).Fits(0, probe) {
			low = n
		} else {
			high = n - 1
		}
	}
	fill(low)
}

// A dry run proves each fix, and writes nothing.
func TestAPreviewStopsBeforeTheIntent(t *testing.T) {
	cases := map[string]struct {
		reason  string
		prepare func(*bench)
		want    v1alpha1.TargetState
		why     string
	}{
		"a fix that would be written": {reason: "it is shown", want: v1alpha1.TargetPreviewed},
		"a target that is left alone": {reason: "so the plan would do", want: v1alpha1.TargetSkipped,
			why: v1alpha1.ReasonOptOut, prepare: func(b *bench) {
				b.annotate(&corev1.ConfigMap{}, b.web(), v1alpha1.AnnotationRemediation, v1alpha1.RemediationPaused)
			}},
		"a fix whose undoing couldn't be recorded": {reason: "it wouldn't be written either",
			want: v1alpha1.TargetFailed, why: v1alpha1.ReasonFixTooLarge, prepare: func(b *bench) { b.crowd(400) }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if tc.prepare != nil {
				tc.prepare(b)
			}
			if err := b.pass.Work(t.Context(), rollout.Intent{Preview: []int{0}}); err != nil {
				t.Fatal(err)
			}
			rec := b.saved[0]
			if rec.State != tc.want || rec.Reason != tc.why || len(b.saved) != 1 {
				t.Errorf("%s: %s (%s): %s", tc.reason, rec.State, rec.Reason, rec.Message)
			}
			if shown := len(record.WritesOf(&rec)); shown != 2 && tc.want == v1alpha1.TargetPreviewed {
				t.Errorf("%s: %d writes are shown", tc.reason, shown)
			}
			for _, w := range record.WritesOf(&rec) {
				if w.IntentTime != nil || w.Expected != nil {
					t.Errorf("%s: it is told as a write: %+v", tc.reason, w)
				}
			}
			if state, noted := b.state(); state != "bad" || noted {
				t.Errorf("%s: state %q, note %t", tc.reason, state, noted)
			}
		})
	}
}

// The record of a write is persisted before it, whole, without its proof's places, or not
// at all: then nothing is written.
func TestAWriteIsSentOnlyWhenItsUndoingCanBeRecorded(t *testing.T) {
	cases := map[string]struct {
		reason string
		// less is by how much the room is less than what the whole record takes, and may come to take.
		less   int
		want   v1alpha1.TargetState
		why    string
		placed bool
	}{
		"there is room": {reason: "all is recorded", want: v1alpha1.TargetApplied, placed: true},
		"there is a little less": {reason: "the record tells that something differs, though not where", less: 820,
			want: v1alpha1.TargetApplied},
		"there is none for what undoing needs": {reason: "it couldn't be undone", less: 1500,
			want: v1alpha1.TargetFailed, why: v1alpha1.ReasonFixTooLarge},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			web := b.object("web")
			for n := range 120 { // each key has its place in the proof
				web.Data["key"+strings.Repeat("x", n)] = "v"
			}
			if err := b.api.Update(t.Context(), web); err != nil {
				t.Fatal(err)
			}
			_, whole := b.attempt(fixOnly())
			b.crowd(record.EncodedBytes(&whole) - tc.less)
			if err := b.pass.Work(t.Context(), rollout.Intent{Write: []int{0}}); err != nil {
				t.Fatal(err)
			}
			last := b.saved[len(b.saved)-1]
			if last.State != tc.want || last.Reason != tc.why {
				t.Fatalf("%s: %s (%s): %s", tc.reason, last.State, last.Reason, last.Message)
			}
			if state, _ := b.state(); (state == "good") != (tc.want == v1alpha1.TargetApplied) {
				t.Errorf("%s: the object holds %q", tc.reason, state)
			}
			if tc.want == v1alpha1.TargetApplied && (b.saved[0].State != v1alpha1.TargetIntent ||
				(b.saved[0].Write.Expected.Places != nil) != tc.placed) {
				t.Errorf("%s: first persisted is %+v", tc.reason, b.saved[0])
			}
		})
	}
}

// One step does one thing, and what is under way comes first.
func TestAStepDoesOneThing(t *testing.T) {
	b := newBench(t)
	if err := b.pass.Work(t.Context(), rollout.Intent{}); err != nil || len(b.saved) > 0 {
		t.Errorf("nothing is to be done, and %d times it is saved: %v", len(b.saved), err)
	}
	_, rec := b.attempt(fixOnly())
	b.pass.Records.Set(0, rec)
	if err := b.pass.Work(t.Context(), rollout.Intent{Resolve: []int{0}, Write: []int{0}}); err != nil {
		t.Fatal(err)
	}
	if state, _ := b.state(); state != "bad" || len(b.saved) != 1 || b.saved[0].State != v1alpha1.TargetPending {
		t.Errorf("it is written before it is known what became of the write: %q, %+v", state, b.saved)
	}
}

// Breakers count what admission denies, in rollouts only, and where.
func TestDenialsAreCountedWhereAWriteIsMeant(t *testing.T) {
	cases := map[string]struct {
		mode      v1alpha1.RemediationMode
		state     v1alpha1.TargetState
		why       string
		namespace string
		want      []rollout.Outcome
	}{
		"a write that is denied": {v1alpha1.RemediationAutomatic, v1alpha1.TargetFailed,
			v1alpha1.ReasonAdmissionDenied, "shop", []rollout.Outcome{{Type: circuit.TargetFailed, Count: 1,
				Key: "p1/denied/u1", Message: "no", Namespaces: map[string]int32{"shop": 1}}}},
		"one of an object in no namespace": {v1alpha1.RemediationManual, v1alpha1.TargetFailed,
			v1alpha1.ReasonAdmissionDenied, "",
			[]rollout.Outcome{{Type: circuit.TargetFailed, Count: 1, Key: "p1/denied/u1", Message: "no"}}},
		"a dry run that is denied": {mode: v1alpha1.RemediationDryRun, state: v1alpha1.TargetFailed,
			why: v1alpha1.ReasonAdmissionDenied, namespace: "shop"},
		"another failure": {mode: v1alpha1.RemediationAutomatic, state: v1alpha1.TargetFailed,
			why: v1alpha1.ReasonConflict, namespace: "shop"},
		"one that is tried again": {mode: v1alpha1.RemediationAutomatic, state: v1alpha1.TargetPending,
			why: v1alpha1.ReasonAdmissionDenied, namespace: "shop"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.pass.Remediation.UID, b.pass.Remediation.Spec.Plan.Rollout.Mode = "p1", tc.mode
			b.pass.Records.Slices[0].Targets[0].Object.Namespace = tc.namespace
			b.pass.SetRecord(0, v1alpha1.TargetRecord{State: tc.state, Reason: tc.why, Message: "no"})
			equal(t, tc.want, b.pass.Denials())
			if b.pass.Records.Record(0).State != tc.state {
				t.Error("the record isn't kept")
			}
		})
	}
}

// What a fix patches twice it patches as its first write has left it.
func TestTheSecondPatchOfAFixGoesOnTheFirst(t *testing.T) {
	b := newBench(t)
	a, rec := b.attempt(fixOnly())
	second := *a.Writes[0]
	second.Ops = []policy.PatchOp{
		{Op: "add", Path: "/metadata/labels", Value: map[string]any{"a": "b"}, HasValue: true}}
	second.Keys, second.Fields = nil, nil
	a.Writes = append(a.Writes, &second)
	if got := b.pass.send(t.Context(), a, rec); got.State != v1alpha1.TargetApplied {
		t.Fatalf("got %s (%s): %s", got.State, got.Reason, got.Message)
	}
	web := &corev1.ConfigMap{}
	if err := b.api.Get(t.Context(), b.web(), web); err != nil || web.Labels["a"] != "b" ||
		web.Data["state"] != "good" {
		t.Errorf("it holds %v with the labels %v: %v", web.Data, web.Labels, err)
	}
}
