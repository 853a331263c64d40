// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/fixtest"
)

func TestProposingWritesRecordsAlone(t *testing.T) {
	b := newBench(t)
	wait, err := b.pass.Propose(t.Context(), fixtest.Now)
	if err != nil || wait <= 0 || wait > time.Second {
		t.Fatalf("wait %s, %v", wait, err)
	}
	if state, noted := b.state(); state != "bad" || noted || len(b.saved) != 1 {
		t.Errorf("state %q, note %t, saved %d times", state, noted, len(b.saved))
	}
	rec := b.saved[0]
	if rec.State != v1alpha1.TargetPending || !strings.Contains(rec.Proposal, `/data/state: "bad" → "good"`) ||
		rec.Write != nil {
		t.Errorf("recorded %+v", rec)
	}
	if wait, err = b.pass.Propose(t.Context(), fixtest.Now); wait != 0 || err != nil || len(b.saved) != 1 {
		t.Errorf("it is looked at again: wait %s, %v", wait, err)
	}

	// And that is what is written.
	if err := b.pass.Work(t.Context(), rollout.Intent{Write: []int{0}}); err != nil {
		t.Fatal(err)
	}
	if state, noted := b.state(); state != "good" || !noted {
		t.Errorf("state %q, note %t: %+v", state, noted, b.pass.Records.Record(0))
	}
}

func TestWhatChangesAfterItsApprovalIsntWritten(t *testing.T) {
	b := newBench(t)
	if _, err := b.pass.Propose(t.Context(), fixtest.Now); err != nil {
		t.Fatal(err)
	}
	b.proposes(fixtest.SetState("better"))
	if err := b.pass.Work(t.Context(), rollout.Intent{Write: []int{0}}); err != nil {
		t.Fatal(err)
	}
	rec := b.pass.Records.Record(0)
	if state, _ := b.state(); state != "bad" || rec.State != v1alpha1.TargetSkipped ||
		rec.Reason != v1alpha1.ReasonChangedSinceApproval || rec.Proposal != "" {
		t.Errorf("state %q: %+v", state, rec)
	}
}

func TestWhichTargetsAreProposedNext(t *testing.T) {
	later := metav1.NewMicroTime(fixtest.Now.Add(7 * time.Second))
	pending := v1alpha1.TargetRecord{State: v1alpha1.TargetPending}
	known, waits, done := pending, pending, pending
	known.Proposal, waits.NextAttemptTime, done.State = "no change: AlreadyClean: x", &later, v1alpha1.TargetDone
	cases := map[string]struct {
		records []v1alpha1.TargetRecord
		skip    bool
		want    int
		wait    time.Duration
	}{
		"one that isn't known":      {records: []v1alpha1.TargetRecord{pending}, want: 1},
		"one that is known":         {records: []v1alpha1.TargetRecord{known}},
		"one that is settled":       {records: []v1alpha1.TargetRecord{done}},
		"one that is its owner's":   {records: []v1alpha1.TargetRecord{pending}, skip: true},
		"one that waits":            {records: []v1alpha1.TargetRecord{known, waits}, wait: 7 * time.Second},
		"one that waits, among two": {records: []v1alpha1.TargetRecord{waits, pending}, want: 1, wait: 7 * time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			slice := &v1alpha1.RemediationSlice{Records: tc.records}
			for range tc.records {
				target := v1alpha1.Target{Object: fixtest.Web()}
				if tc.skip {
					target.SkipReason = v1alpha1.ReasonManaged
				}
				slice.Targets = append(slice.Targets, target)
			}
			p := &Pass{Records: &record.Records{}}
			p.Records.Add(slice)
			batch, wait := p.toPropose(fixtest.Now)
			if len(batch) != tc.want || wait != tc.wait {
				t.Errorf("%d targets, wait %s", len(batch), wait)
			}
		})
	}
	many := &v1alpha1.RemediationSlice{Targets: make([]v1alpha1.Target, 100)}
	p := &Pass{Records: &record.Records{}}
	p.Records.Add(many)
	if batch, _ := p.toPropose(fixtest.Now); len(batch) != proposeBatch {
		t.Errorf("%d targets in a step", len(batch))
	}
}

func TestAProposalThatCantBeSavedIsAnError(t *testing.T) {
	b := newBench(t)
	b.saveErr = errors.New("etcd is away")
	if _, err := b.pass.Propose(t.Context(), fixtest.Now); !errors.Is(err, b.saveErr) {
		t.Errorf("got %v", err)
	}
}
