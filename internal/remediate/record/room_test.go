// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/breakertest"
)

// recordOf is the record of a patch that changes a field of some size.
func recordOf(state v1alpha1.TargetState, bytes int) v1alpha1.TargetRecord {
	now := metav1.NewMicroTime(breakertest.Noon)
	value := func(fill string) *apiextensionsv1.JSON {
		return &apiextensionsv1.JSON{Raw: []byte(`"` + strings.Repeat(fill, bytes) + `"`)}
	}
	container := "/spec/template/spec/containers/0"
	w := &v1alpha1.WriteRecord{UID: strings.Repeat("u", 36), ResourceVersion: "123456", HealthBefore: "Current",
		IntentTime:   &now,
		Forward:      []v1alpha1.PatchOperation{{Op: "replace", Path: container + "/image", Value: value("n")}},
		Fields:       []v1alpha1.FieldChange{{Path: container + "/image", Before: value("o"), After: value("n")}},
		Keys:         []v1alpha1.PatchOperation{{Op: "test", Path: container + "/name", Value: value("k")}},
		DigestBefore: strings.Repeat("b", 64), DigestAfter: strings.Repeat("a", 64)}
	switch state {
	case v1alpha1.TargetIntent:
		w.Expected = &v1alpha1.ExpectedContent{Digest: strings.Repeat("d", 64), Others: strings.Repeat("o", 64),
			Places: []byte(strings.Repeat("p", 1024))}
	case v1alpha1.TargetApplied, v1alpha1.TargetVerified, v1alpha1.TargetDone:
		w.AppliedTime = &now
	case v1alpha1.TargetPending, v1alpha1.TargetSkipped, v1alpha1.TargetFailed, v1alpha1.TargetPreviewed,
		v1alpha1.TargetReverted, v1alpha1.TargetRevertConflict:
	}
	return v1alpha1.TargetRecord{State: state, Write: w}
}

// cameWith is a field that a webhook has added to a write.
func cameWith() v1alpha1.FieldChange {
	return v1alpha1.FieldChange{
		Path: "/data/more", After: &apiextensionsv1.JSON{Raw: []byte(`"` + strings.Repeat("y", 1500) + `"`)}}
}

// sliceOfTargets is a slice as the planner makes one.
func sliceOfTargets(n int) *v1alpha1.RemediationSlice {
	slice := &v1alpha1.RemediationSlice{ObjectMeta: metav1.ObjectMeta{Name: "plan-0"}, Remediation: "plan"}
	for i := range n {
		slice.Targets = append(slice.Targets, v1alpha1.Target{Object: v1alpha1.ObjectReference{
			APIVersion: "apps/v1", Kind: "Deployment", Namespace: "a-namespace-of-some-length",
			Name: fmt.Sprintf("a-deployment-of-some-length-%06d", i), UID: strings.Repeat("u", 36)}})
	}
	return slice
}

func bookOver(slices ...*v1alpha1.RemediationSlice) *Records {
	b := &Records{}
	for _, s := range slices {
		b.Add(s)
	}
	return b
}

func bytesOf(t interface{ Fatal(...any) }, v any) int {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return len(raw)
}

// Whatever is written, refused, and undone later with whatever messages, a slice whose
// intents were found to fit never passes its limit, and no value before is lost.
func TestASliceNeverPassesItsLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, v1alpha1.MaxTargetsPerSlice).Draw(t, "targets")
		b, written := bookOver(sliceOfTargets(n)), map[int]int{}
		text := strings.Repeat(rapid.SampledFrom([]string{"x", "<", "\"", "é"}).Draw(t, "text"), 400)
		for i := range n {
			size := rapid.SampledFrom([]int{10, 500, 2000, 8000}).Draw(t, "bytes")
			rec := recordOf(v1alpha1.TargetIntent, size)
			if !b.Fits(i, rec) {
				rec = Briefly(rec)
			}
			if !b.Fits(i, rec) {
				rec = v1alpha1.TargetRecord{State: v1alpha1.TargetFailed, Reason: v1alpha1.ReasonFixTooLarge,
					Message: text, Proposal: strings.Repeat("p", 4000)}
			} else {
				written[i] = size
			}
			b.Set(i, rec)
		}
		for _, state := range []v1alpha1.TargetState{
			v1alpha1.TargetApplied, v1alpha1.TargetDone, v1alpha1.TargetRevertConflict} {
			for i, size := range written {
				rec := recordOf(state, size)
				rec.Message, rec.Reason, rec.Recovering = text, strings.Repeat("R", 64), true
				now := metav1.NewMicroTime(breakertest.Noon)
				rec.NextAttemptTime, rec.WaitingTime, rec.Attempts = &now, &now, 1<<30
				if state == v1alpha1.TargetApplied {
					rec.Write.Beyond = "/metadata/labels/" + text
					rec.Write.Fields = append(rec.Write.Fields, cameWith())
				}
				if state == v1alpha1.TargetRevertConflict {
					rec.Write.RevertedTime, rec.Write.AppliedTime = &now, &now
				}
				b.Set(i, rec)
			}
		}
		if size := bytesOf(t, b.Slices[0]); size > v1alpha1.MaxSliceBytes {
			t.Fatalf("the slice has %d bytes, more than %d", size, v1alpha1.MaxSliceBytes)
		}
		for i, size := range written {
			if before := b.Record(i).Write.Fields[0].Before; before == nil || len(before.Raw) != size+2 {
				t.Fatalf("target %d has lost its value before", i)
			}
		}
	})
}

func TestAnEverydayFixFitsForEveryTargetOfASlice(t *testing.T) {
	b := bookOver(sliceOfTargets(v1alpha1.MaxTargetsPerSlice))
	for i := range v1alpha1.MaxTargetsPerSlice {
		rec := recordOf(v1alpha1.TargetIntent, 60)
		if !b.Fits(i, rec) {
			rec = Briefly(rec)
		}
		if !b.Fits(i, rec) {
			t.Fatalf("target %d of %d doesn't fit, all of them in flight at once", i, v1alpha1.MaxTargetsPerSlice)
		}
		b.Set(i, rec)
	}
}

// Where there is no room for what came with a write, it is named, as what is too large is.
func TestWhatCameWithAWriteIsNamedWhereTheSliceIsFull(t *testing.T) {
	b := bookOver(sliceOfTargets(2))
	_, later := b.roomOf(0).free(0)
	size := (later - needOf(recordOf(v1alpha1.TargetIntent, 0))) / 4 // forward, before, after and key
	intent := recordOf(v1alpha1.TargetIntent, size)
	intent.Write.Expected = nil
	if !b.Fits(0, intent) {
		t.Fatal("the intent doesn't fit")
	}
	b.Set(0, intent)
	applied := *intent.DeepCopy()
	applied.State, applied.Write.Beyond, applied.Write.DigestAfter = v1alpha1.TargetApplied, "/data/more", "of both"
	applied.Write.Fields = append(applied.Write.Fields, cameWith())
	b.Set(0, applied)
	w := b.Record(0).Write
	if len(w.Fields) != 1 || w.Surplus != "/data/more" || w.DigestAfter != intent.Write.DigestAfter {
		t.Errorf("%d fields, surplus %q, digest %q", len(w.Fields), w.Surplus, w.DigestAfter)
	}
	if size := bytesOf(t, b.Slices[0]); size > v1alpha1.MaxSliceBytes {
		t.Errorf("the slice has %d bytes", size)
	}
}

func TestAnEndedPlanKeepsWhatUndoingNeeds(t *testing.T) {
	b := bookOver(sliceOfTargets(3))
	done := recordOf(v1alpha1.TargetDone, 60)
	done.Attempts, done.Message = 3, strings.Repeat("m", 1000)
	previewed := recordOf(v1alpha1.TargetPreviewed, 60)
	left := v1alpha1.TargetRecord{State: v1alpha1.TargetSkipped, Reason: v1alpha1.ReasonManaged,
		Message: strings.Repeat("m", 1000), Proposal: "the fix"}
	for i, rec := range []v1alpha1.TargetRecord{done, previewed, left} {
		b.Set(i, rec)
	}
	b.Trim()
	got := b.Record(0)
	if got.Attempts != 0 || len(got.Message) > shortText || got.Write.Forward != nil {
		t.Errorf("not trimmed: %+v", got)
	}
	want := done.Write.DeepCopy()
	want.Forward = nil
	if bytesOf(t, want) != bytesOf(t, got.Write) || len(got.Write.Fields) != 1 || len(got.Write.Keys) != 1 {
		t.Errorf("undoing needs more than %+v", got.Write)
	}
	mark := []v1alpha1.PatchOperation{{Op: "add", Value: &apiextensionsv1.JSON{Raw: []byte(`"plan"`)},
		Path: "/metadata/annotations/evenkeel.dev~1last-remediation"}}
	done.Write.Forward = append(done.Write.Forward, mark...)
	b.Set(0, done)
	b.Trim()
	if diff := cmp.Diff(mark, b.Record(0).Write.Forward); diff != "" {
		t.Errorf("the mark can't be undone (-want +got):\n%s", diff)
	}
	if b.Record(1).Write.Forward == nil {
		t.Error("a preview is there for its patch")
	}
	if got := b.Record(2); got.Proposal != "the fix" || len(got.Message) != 1000 {
		t.Error("a proposal and its message are there for the owner")
	}
}

// tally counts the bytes of what is stored.
type tally struct {
	client.Writer // nil: only Update is called
	bytes         int
}

func (w *tally) Update(_ context.Context, obj client.Object, _ ...client.UpdateOption) error {
	raw, err := json.Marshal(obj)
	w.bytes += len(raw)
	return err
}

// A plan's slices are stored whole with each step, and the smaller ones cost less.
func TestBytesStoredPerTarget(t *testing.T) {
	const targets, batch = 1000, 10
	perTarget := func(size int) (written, kept int) {
		w, b := &tally{}, &Records{}
		for rest := targets; rest > 0; rest -= size {
			b.Add(sliceOfTargets(min(size, rest)))
		}
		save := func() {
			if err := b.Save(t.Context(), w); err != nil {
				t.Fatal(err)
			}
		}
		for first := 0; first < targets; first += batch {
			for _, state := range []v1alpha1.TargetState{v1alpha1.TargetIntent, v1alpha1.TargetApplied,
				v1alpha1.TargetVerified, v1alpha1.TargetDone} {
				for i := first; i < first+batch; i++ {
					b.Set(i, recordOf(state, 60))
				}
				save()
			}
		}
		if size == v1alpha1.MaxTargetsPerSlice {
			b.Trim()
			save()
		}
		for _, s := range b.Slices {
			kept += bytesOf(t, s)
		}
		return w.bytes / targets, kept / targets
	}
	before, keptBefore := perTarget(250)
	after, keptAfter := perTarget(v1alpha1.MaxTargetsPerSlice)
	t.Logf("stored per target over a rollout of %d, %d at a time: %d bytes in slices of 250, %d in slices of %d; "+
		"kept at its end: %d and %d", targets, batch, before, after, v1alpha1.MaxTargetsPerSlice, keptBefore, keptAfter)
	if after*2 > before || keptAfter >= keptBefore {
		t.Errorf("smaller slices must cost less than half: %d and %d; kept %d and %d", before, after, keptBefore,
			keptAfter)
	}
}
