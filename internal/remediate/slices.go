package remediate

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/seal"
)

// book is a plan's targets with their records, as read from its slices. Changes
// are kept until Save.
type book struct {
	slices []*v1alpha1.RemediationSlice
	dirty  []bool
	places []place
	// rooms are how much of each slice is taken; nil for what wasn't asked yet.
	rooms []*room
}

type place struct{ slice, record int }

// errPlanIncomplete says that a plan's slices aren't all there.
type errPlanIncomplete struct{ missing string }

func (e errPlanIncomplete) Error() string {
	return fmt.Sprintf("slice %s of the plan doesn't exist", e.missing)
}

// readBook reads a plan's slices anew from the API server.
func readBook(ctx context.Context, reader client.Reader, rem *v1alpha1.Remediation) (*book, error) {
	b := &book{}
	for _, name := range rem.Spec.Plan.Slices {
		slice, err := readSlice(ctx, reader, rem, name)
		if err != nil {
			return nil, err
		}
		b.add(slice)
	}
	return b, nil
}

func readSlice(ctx context.Context, reader client.Reader, rem *v1alpha1.Remediation, name string) (*v1alpha1.RemediationSlice, error) {
	slice := &v1alpha1.RemediationSlice{}
	err := reader.Get(ctx, client.ObjectKey{Name: name}, slice)
	switch {
	case kube.Classify(err) == kube.Gone:
		return nil, errPlanIncomplete{missing: name}
	case err != nil:
		return nil, fmt.Errorf("read slice %s: %w", name, err)
	}
	return slice, seal.CheckOwner(slice, rem)
}

func (b *book) add(slice *v1alpha1.RemediationSlice) {
	for len(slice.Records) < len(slice.Targets) {
		slice.Records = append(slice.Records, v1alpha1.TargetRecord{State: v1alpha1.TargetPending})
	}
	for i := range slice.Targets {
		b.places = append(b.places, place{len(b.slices), i})
	}
	b.slices = append(b.slices, slice)
	b.dirty = append(b.dirty, false)
}

func (b *book) target(i int) v1alpha1.Target {
	p := b.places[i]
	return b.slices[p.slice].Targets[p.record]
}

func (b *book) record(i int) *v1alpha1.TargetRecord {
	p := b.places[i]
	return &b.slices[p.slice].Records[p.record]
}

// set replaces a record, to be saved. A proposal that would fill the slice is left out.
func (b *book) set(i int, rec v1alpha1.TargetRecord) {
	p := b.places[i]
	if rec.Proposal != "" && !b.fitsProposal(i, rec) {
		rec.Proposal = ""
		rec.Message = prose.Shorten(rec.Message+"; the diff is left out, for the slice is full of others", 1024)
	}
	b.place(i, rec)
	b.dirty[p.slice] = true
}

// mark changes a record's state, and keeps the rest.
func (b *book) mark(m Mark) {
	rec := *b.record(m.Target)
	if m.Recovered {
		rec.Recovering = false
		if m.Message != "" {
			rec.Message = prose.Shorten(strings.TrimPrefix(rec.Message+"; "+m.Message, "; "), 1024)
		}
		b.set(m.Target, rec)
		return
	}
	rec.State = m.State
	if m.Reason != "" || m.State.Settled() {
		rec.Reason, rec.Message = m.Reason, prose.Shorten(m.Message, 1024)
	}
	if m.Wave != nil {
		rec.Wave = m.Wave
	}
	b.set(m.Target, rec)
}

// save writes the changed slices. Each write fails with a conflict when somebody
// else has written the slice since it was read: then nothing of it is stored.
func (b *book) save(ctx context.Context, c client.Writer) error {
	for i, slice := range b.slices {
		if !b.dirty[i] {
			continue
		}
		slice.Progress = progressOf(slice)
		if err := c.Update(ctx, slice, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
			return fmt.Errorf("write slice %s: %w", slice.Name, err)
		}
		b.dirty[i] = false
	}
	return nil
}

// views are the targets as the machine sees them, without checks.
func (b *book) views() []TargetView {
	out := make([]TargetView, len(b.places))
	for i := range b.places {
		t, rec := b.target(i), b.record(i)
		v := TargetView{Object: t.Object, Wave: t.Wave, State: rec.State, Reason: rec.Reason, NotCanary: t.NotCanary, Recovering: rec.Recovering, LandsUntil: landsUntil(rec), attempts: rec.Attempts}
		if rec.Wave != nil {
			v.Wave = *rec.Wave
		}
		if rec.NextAttemptAt != nil {
			v.NextAttemptAt = rec.NextAttemptAt.Time
		}
		if rec.Write != nil && rec.Write.AppliedAt != nil {
			v.AppliedAt = rec.Write.AppliedAt.Time
		}
		if rec.Write != nil && rec.Write.RevertedAt != nil {
			v.RevertedAt = rec.Write.RevertedAt.Time
		}
		out[i] = v
	}
	return out
}

// progressOf counts the targets of one slice, for people.
func progressOf(slice *v1alpha1.RemediationSlice) v1alpha1.SliceProgress {
	p := v1alpha1.SliceProgress{Targets: int32(len(slice.Targets))}
	for _, rec := range slice.Records {
		switch rec.State {
		case v1alpha1.TargetDone, v1alpha1.TargetPreviewed:
			p.Done++
		case v1alpha1.TargetFailed, v1alpha1.TargetRevertConflict:
			p.Failed++
		case v1alpha1.TargetPending, v1alpha1.TargetIntent, v1alpha1.TargetApplied, v1alpha1.TargetVerified,
			v1alpha1.TargetSkipped, v1alpha1.TargetReverted:
		}
	}
	return p
}

// counts counts the targets by state.
func (b *book) counts() v1alpha1.TargetCounts {
	var c v1alpha1.TargetCounts
	for i := range b.places {
		switch b.record(i).State {
		case v1alpha1.TargetPending:
			c.Pending++
		case v1alpha1.TargetIntent, v1alpha1.TargetApplied, v1alpha1.TargetVerified:
			c.InFlight++
		case v1alpha1.TargetDone, v1alpha1.TargetPreviewed:
			c.Done++
		case v1alpha1.TargetSkipped:
			c.Skipped++
		case v1alpha1.TargetFailed:
			c.Failed++
		case v1alpha1.TargetReverted:
			c.Reverted++
		case v1alpha1.TargetRevertConflict:
			c.RevertConflict++
		}
	}
	return c
}

// skipped are the objects that a plan has left alone, by tellKey.
func (b *book) skipped() map[string]bool {
	out := map[string]bool{}
	for i := range b.places {
		if rec := b.record(i); rec.State == v1alpha1.TargetSkipped {
			out[tellKey(b.target(i).Object.UID, rec.Reason)] = true
		}
	}
	return out
}

// tellKey tells an object that is left alone for a reason.
func tellKey(uid, reason string) string { return uid + " " + reason }
