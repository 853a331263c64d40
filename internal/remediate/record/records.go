// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// Records is a plan's targets with their records, as read from its slices. Changes
// are kept until Save.
type Records struct {
	// Slices may be others' too: what is in them is never changed. A slice that is to
	// change is replaced first, so a step copies what it changes and not the whole plan.
	Slices []*v1alpha1.RemediationSlice
	// dirty says of each slice whether it has changed. Then it is this plan's own, though
	// its records share what they point to.
	dirty  []bool
	Places []Place
	// rooms are how much of each slice is taken; nil for what wasn't asked yet.
	rooms []*room
}

// Place is where a target stands: its slice, and its number there.
type Place struct{ Slice, Record int }

// IncompleteError reports that a slice of a plan isn't there, or is another plan's.
type IncompleteError struct {
	// Foreign: the slice belongs to a plan of the same name that was deleted.
	Foreign bool
	why     string
}

func (e IncompleteError) Error() string { return e.why }

// Unreadable reports that a plan's records can't be read until a person acts. Such a plan writes nothing.
func Unreadable(err error) bool {
	var incomplete IncompleteError
	return errors.As(err, &incomplete)
}

// Read reads a plan's slices anew from the API server.
func Read(ctx context.Context, reader client.Reader, rem *v1alpha1.Remediation) (*Records, error) {
	b := &Records{}
	for _, name := range rem.Spec.Plan.Slices {
		slice, err := readSlice(ctx, reader, rem, name)
		if err != nil {
			return nil, err
		}
		b.Add(slice)
	}
	return b, nil
}

func readSlice(ctx context.Context, reader client.Reader, rem *v1alpha1.Remediation, name string) (
	*v1alpha1.RemediationSlice, error) {
	slice := &v1alpha1.RemediationSlice{}
	err := reader.Get(ctx, client.ObjectKey{Name: name}, slice)
	switch {
	case kube.Classify(err) == kube.Gone:
		return nil, IncompleteError{why: fmt.Sprintf("slice %s of the plan doesn't exist", name)}
	case err != nil:
		return nil, fmt.Errorf("read slice %s: %w", name, err)
	}
	return slice, checkOwner(slice, rem)
}

// checkOwner returns an error if what a slice records was done by another plan of the name. A slice that a
// backup tool restores without its owner is adopted again.
func checkOwner(slice *v1alpha1.RemediationSlice, rem *v1alpha1.Remediation) error {
	owner := metav1.GetControllerOfNoCopy(slice)
	if len(slice.Records) == 0 || owner == nil || owner.UID == rem.UID {
		return nil
	}
	return IncompleteError{Foreign: true, why: fmt.Sprintf("slice %s belongs to the plan with UID %q, and "+
		"Remediation %s has %q: it was deleted and made again, by a restore for example",
		slice.Name, owner.UID, rem.Name, rem.UID)}
}

// Add appends the targets of a slice, which others may hold as well.
func (b *Records) Add(slice *v1alpha1.RemediationSlice) {
	if len(slice.Records) < len(slice.Targets) {
		slice = ownRecords(slice)
	}
	for len(slice.Records) < len(slice.Targets) {
		slice.Records = append(slice.Records, v1alpha1.TargetRecord{State: v1alpha1.TargetPending})
	}
	for i := range slice.Targets {
		b.Places = append(b.Places, Place{len(b.Slices), i})
	}
	b.Slices = append(b.Slices, slice)
	b.dirty = append(b.dirty, false)
}

// ownRecords is the same slice with a list of records of its own.
func ownRecords(slice *v1alpha1.RemediationSlice) *v1alpha1.RemediationSlice {
	own := *slice
	own.Records = slices.Clone(slice.Records)
	return &own
}

// change readies a slice to be changed.
func (b *Records) change(slice int) {
	if !b.dirty[slice] {
		b.Slices[slice], b.dirty[slice] = ownRecords(b.Slices[slice]), true
	}
}

// Target is the ith target of the plan.
func (b *Records) Target(i int) v1alpha1.Target {
	p := b.Places[i]
	return b.Slices[p.Slice].Targets[p.Record]
}

// Record is what is known of the ith target. It is changed by Set alone: who changes what
// it points to works on a deep copy.
func (b *Records) Record(i int) *v1alpha1.TargetRecord {
	p := b.Places[i]
	return &b.Slices[p.Slice].Records[p.Record]
}

// Set replaces a record, to be saved. A proposal that would fill the slice is left out.
func (b *Records) Set(i int, rec v1alpha1.TargetRecord) {
	proposal, leftOut := b.proposalOf(i, rec)
	if rec.Proposal = proposal; leftOut {
		rec.Message = prose.Shorten(rec.Message+"; the diff is left out, for the slice is full of others", 1024)
	}
	b.place(i, rec)
}

// Mark changes a record's state, and keeps the rest.
func (b *Records) Mark(m rollout.Mark) {
	rec := *b.Record(m.Target)
	if m.Recovered {
		rec.Recovering = false
		if m.Message != "" {
			rec.Message = prose.Shorten(strings.TrimPrefix(rec.Message+"; "+m.Message, "; "), 1024)
		}
		b.Set(m.Target, rec)
		return
	}
	rec.State = m.State
	if m.Reason != "" || m.State.Settled() {
		rec.Reason, rec.Message = m.Reason, prose.Shorten(m.Message, 1024)
	}
	if m.Wave != nil {
		rec.Wave = m.Wave
	}
	b.Set(m.Target, rec)
}

// Save writes the changed slices. Each write fails with a conflict when somebody
// else has written the slice since it was read: then nothing of it is stored.
func (b *Records) Save(ctx context.Context, c client.Writer) error {
	for i, slice := range b.Slices {
		if !b.dirty[i] {
			continue
		}
		stored := slice.DeepCopy() // the answer is read into it
		stored.Progress = progressOf(slice)
		if err := c.Update(ctx, stored, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
			return fmt.Errorf("write slice %s: %w", slice.Name, err)
		}
		b.Slices[i], b.dirty[i] = stored, false
	}
	return nil
}

// maxViewed is how much a view holds of why a target failed, for a plan's message.
const maxViewed = 400

// Views are the targets as the machine sees them, without checks.
func (b *Records) Views() []rollout.TargetView {
	out := make([]rollout.TargetView, len(b.Places))
	for i := range b.Places {
		t, rec := b.Target(i), b.Record(i)
		v := rollout.TargetView{Object: t.Object, Wave: t.Wave, State: rec.State, Reason: rec.Reason,
			ExcludedFromCanary: t.ExcludedFromCanary, Recovering: rec.Recovering, LandsUntil: LandsUntil(rec),
			Attempts: rec.Attempts}
		if rec.State == v1alpha1.TargetFailed {
			v.Message = prose.Shorten(rec.Message, maxViewed)
		}
		if rec.Wave != nil {
			v.Wave = *rec.Wave
		}
		if rec.NextAttemptTime != nil {
			v.NextAttemptAt = rec.NextAttemptTime.Time
		}
		if rec.Write != nil && rec.Write.AppliedTime != nil {
			v.AppliedAt = rec.Write.AppliedTime.Time
		}
		if rec.Write != nil && rec.Write.RevertedTime != nil {
			v.RevertedAt = rec.Write.RevertedTime.Time
		}
		out[i] = v
	}
	return out
}

// progressOf counts the targets of one slice, for people.
func progressOf(slice *v1alpha1.RemediationSlice) v1alpha1.SliceProgress {
	var c v1alpha1.TargetCounts
	for i := range slice.Records {
		c.Add(slice.Records[i].State)
	}
	return v1alpha1.SliceProgress{Targets: int32(len(slice.Targets)), Done: c.Done, Failed: c.Failed + c.RevertConflict}
}

// Counts counts the targets by state.
func (b *Records) Counts() v1alpha1.TargetCounts {
	var c v1alpha1.TargetCounts
	for i := range b.Places {
		c.Add(b.Record(i).State)
	}
	return c
}

// Skipped are the objects that a plan has left alone, by SkipKey.
func (b *Records) Skipped() map[string]bool {
	out := map[string]bool{}
	for i := range b.Places {
		if rec := b.Record(i); rec.State == v1alpha1.TargetSkipped {
			out[SkipKey(b.Target(i).Object.UID, rec.Reason)] = true
		}
	}
	return out
}

// SkipKey tells an object that is left alone for a reason.
func SkipKey(uid, reason string) string { return uid + " " + reason }
