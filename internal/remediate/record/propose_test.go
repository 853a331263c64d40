// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/preview"
)

func TestWhatIsApprovedIsToldOnceASlice(t *testing.T) {
	b := bookOver(sliceOfTargets(3))
	waited := *b.Record(1)
	waited.Attempts, waited.Reason = 3, v1alpha1.ReasonRetrying
	b.Set(1, waited)
	b.Propose(1, preview.Change{Digest: "sha256:1", Text: "/a: 1 → 2\n"})
	b.Propose(0, preview.Change{Digest: "sha256:0", Text: "/a: 1 → 2\n"})
	b.Propose(2, preview.Change{Why: "AlreadyClean: clean"})
	for i, want := range []string{"change sha256:0 as target 2", "change sha256:1\n/a: 1 → 2\n",
		"no change: AlreadyClean: clean"} {
		if got := b.Record(i); got.Proposal != want || got.Attempts != 0 || got.Reason != "" ||
			got.State != v1alpha1.TargetPending {
			t.Errorf("target %d: %+v, want %q", i, got, want)
		}
	}
	b.Approved([]int{0, 2})
	for i, want := range []string{"change sha256:0", "change sha256:1", "no change: AlreadyClean: clean"} {
		if got := b.Record(i).Proposal; got != want {
			t.Errorf("once it is written, target %d holds %q, want %q", i, got, want)
		}
	}
}

func TestWhatWasApprovedStaysUntilATargetIsSettled(t *testing.T) {
	whole := preview.Change{Digest: "sha256:0", Text: "/a: 1 → 2\n"}.String()
	for state, want := range map[v1alpha1.TargetState]string{
		v1alpha1.TargetPending: whole, v1alpha1.TargetIntent: "change sha256:0",
		v1alpha1.TargetApplied:  "change sha256:0",
		v1alpha1.TargetVerified: "change sha256:0", v1alpha1.TargetDone: "", v1alpha1.TargetSkipped: "",
		v1alpha1.TargetFailed: "", v1alpha1.TargetReverted: ""} {
		b := bookOver(sliceOfTargets(1))
		b.Set(0, v1alpha1.TargetRecord{State: state, Proposal: whole})
		if got := b.Record(0).Proposal; got != want {
			t.Errorf("%s: %q, want %q", state, got, want)
		}
	}
}

// A slice of large changes that differ has no room for all of their texts, but for what binds
// each of them, and afterwards for the records of the writes.
func TestASliceHasRoomForWhatIsApproved(t *testing.T) {
	manual := &v1alpha1.PlannedRollout{Mode: v1alpha1.RemediationManual}
	each := EncodedBytes(&sliceOfTargets(1).Targets[0]) + WeightOf(manual)
	planned := min(PlannedSliceBytes/each, v1alpha1.MaxTargetsPerSlice)
	b := bookOver(sliceOfTargets(planned))
	for i := range b.Places {
		b.Propose(i, preview.Change{Digest: fmt.Sprintf("sha256:%064d", i),
			Text: fmt.Sprintf("/%d: %s\n", i, strings.Repeat("x", 2000))})
	}
	texts := 0
	for i := range b.Places {
		change, told := preview.ParseChange(b.Record(i).Proposal)
		if !told || change.Digest != fmt.Sprintf("sha256:%064d", i) {
			t.Fatalf("target %d: %q", i, b.Record(i).Proposal)
		}
		if change.Text != "" {
			texts++
		}
		if b.Record(i).Message != "" {
			t.Errorf("target %d says %q", i, b.Record(i).Message)
		}
	}
	if texts < 20 || texts == planned {
		t.Errorf("%d texts are told", texts)
	}
	if size := bytesOf(t, b.Slices[0]); size > v1alpha1.MaxSliceBytes {
		t.Errorf("the slice has %d bytes", size)
	}
	for i := range b.Places {
		b.Approved([]int{i})
		rec := recordOf(v1alpha1.TargetIntent, 60)
		rec.Proposal = b.Record(i).Proposal
		if !b.Fits(i, rec) {
			rec = Briefly(rec)
		}
		if !b.Fits(i, rec) {
			t.Fatalf("the record of write %d has no room", i)
		}
		b.Set(i, rec)
	}
}
